import { encodeFunctionData, toFunctionSelector } from 'viem/utils'
import { addressWord, MULTICALL3, multicall3Abi, tokenAbi, word } from '../../chain/abi.js'
import type { Call, Chain } from '../../chain/chain.js'
import type { Address, Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import type { Authorization } from './authorization.js'
import type { SettlementAsset } from './settlement-network.js'
import { wordOf } from './confirm/outcome.js'
import type { EcdsaSignature } from './verify/signature.js'

/** A signature as the token takes it: split for accounts with a key, whole for contracts. */
export type TransferSignature = EcdsaSignature | Hex

/** The form that every token has, for signatures by a key; written without viem, for it is the usual. */
const TRANSFER_BY_KEY = toFunctionSelector(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
)

const PAUSED = toFunctionSelector('paused()')
const IS_BLACKLISTED = toFunctionSelector('isBlacklisted(address)')
const BALANCE_OF = toFunctionSelector('balanceOf(address)')

/** A transfer that is ready to be called. */
export interface SignedTransfer {
  readonly authorization: Authorization
  readonly signature: TransferSignature
}

/** The call of `transferWithAuthorization` (ERC-3009). */
export function transferCall(
  { authorization, signature }: SignedTransfer,
  { asset, from }: { asset: Pick<SettlementAsset, 'address'>; from?: Address },
): Call {
  const data = transferData(authorization, signature)
  return { ...(from && { from }), to: asset.address, data }
}

/** Asks what an account has of a token. */
export function balanceCall(token: Address, account: Address): Call {
  return { to: token, data: `${BALANCE_OF}${addressWord(account)}` }
}

function transferData(authorization: Authorization, signature: TransferSignature): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const functionName = 'transferWithAuthorization'
  if (typeof signature === 'string')
    return encodeFunctionData({
      abi: tokenAbi,
      functionName,
      args: [from, to, value, validAfter, validBefore, nonce, signature],
    })
  const { v, r, s } = signature
  const window = word(value) + word(validAfter) + word(validBefore)
  const signed = word(v) + r.slice(2) + s.slice(2)
  return `${TRANSFER_BY_KEY}${addressWord(from)}${addressWord(to)}${window}${nonce.slice(2)}${signed}`
}

/**
 * Finds out why a token refuses a transfer, in one request.
 *
 * Tokens word their reverts each in their own way; what they were asked about can be read.
 */
export async function diagnoseTransfer(
  chain: Chain,
  asset: SettlementAsset,
  { authorization, signature }: SignedTransfer,
): Promise<Reason> {
  const { from, to, nonce, value, validAfter, validBefore } = authorization
  const ask = (data: Hex): Call => ({ to: asset.address, data })
  const [state, balance, separator, clock, paused, payerBlocked, payeeBlocked] =
    await chain.callMany([
      ask(
        encodeFunctionData({
          abi: tokenAbi,
          functionName: 'authorizationState',
          args: [from, nonce],
        }),
      ),
      ask(encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [from] })),
      ask(encodeFunctionData({ abi: tokenAbi, functionName: 'DOMAIN_SEPARATOR' })),
      {
        to: MULTICALL3,
        data: encodeFunctionData({ abi: multicall3Abi, functionName: 'getCurrentBlockTimestamp' }),
      },
      // Of Circle's tokens; others may not have them.
      ask(PAUSED),
      ask(`${IS_BLACKLISTED}${addressWord(from)}`),
      ask(`${IS_BLACKLISTED}${addressWord(to)}`),
    ])

  const used = wordOf(state)
  if (used === undefined) return 'invalid_exact_evm_eip3009_not_supported'
  if (used !== 0n) return 'invalid_exact_evm_nonce_already_used'
  const held = wordOf(balance)
  if (held !== undefined && held < value) return 'insufficient_funds'
  // A chain's clock stands at its last block: behind ours, where none was mined for a while.
  const time = wordOf(clock)
  if (time !== undefined && time <= validAfter)
    return 'invalid_exact_evm_payload_authorization_valid_after'
  if (time !== undefined && time >= validBefore)
    return 'invalid_exact_evm_payload_authorization_valid_before'
  if (wordOf(paused) === 1n) return 'token_paused'
  if (wordOf(payerBlocked) === 1n) return 'payer_blacklisted'
  if (wordOf(payeeBlocked) === 1n) return 'pay_to_blacklisted'
  // Ours is the domain that the payer was told to sign with: it must be the token's own.
  const domain = wordOf(separator)
  if (domain !== undefined && domain !== BigInt(asset.separator))
    return 'invalid_payment_requirements'
  // A contract account's signature could not be checked before: only its own code can.
  if (typeof signature === 'string') return 'invalid_exact_evm_payload_signature'
  return 'invalid_exact_evm_transaction_simulation_failed'
}
