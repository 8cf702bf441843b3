/** The token contract (ERC-3009): its calls, what they return, and why it refuses a transfer. */
import { encodeFunctionData, toFunctionSelector } from 'viem/utils'
import { addressWord, tokenAbi, word } from '../../../chain/abi.js'
import type { Chain } from '../../../chain/chain.js'
import type { Call, CallResult } from '../../../chain/types.js'
import type { Authorization } from '../../../protocol/erc3009.js'
import type { PaymentKey } from '../../../protocol/payment-key.js'
import type { Address, Hex } from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { SettlementAsset } from '../network/settlement-asset.js'
import { balanceCall, clockCall, operatorCalls, operatorReason, wordOf } from '../reads.js'
import type { TransferSignature } from '../transfer-method.js'

/** An authorization, and a signature that the token takes. */
interface SignedAuthorization {
  readonly authorization: Authorization
  readonly signature: TransferSignature
}

/** The domain of a token that is taken in this way. */
export function separatorOf({ separator }: SettlementAsset): Hex {
  if (separator === undefined) throw new Error('A token without ERC-3009 was to be paid by it.')
  return separator
}

/** The form that every token has, for signatures by a key. Encoded by hand: 7 µs, twice a payment; viem takes 67. */
const TRANSFER_BY_KEY = toFunctionSelector(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
)

const TRANSFERS = [
  TRANSFER_BY_KEY,
  toFunctionSelector(
    'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
  ),
]

/** The call of `transferWithAuthorization`. */
export function transferCall(
  { authorization, signature }: SignedAuthorization,
  { asset, from }: { asset: SettlementAsset; from?: Address | undefined },
): Call {
  const data = transferData(authorization, signature)
  return { to: asset.address, data, ...(from && { from }) }
}

/** Whether a call of a token is one of `transferWithAuthorization`, in either form. */
export function isTransferCall({ data }: Call): boolean {
  return TRANSFERS.some((selector) => data.startsWith(selector))
}

/** Asks whether an authorization was used or cancelled. */
export function authorizationStateCall({
  contract: to,
  from,
  nonce,
}: Omit<PaymentKey, 'chainId'>): Call {
  const functionName = 'authorizationState'
  return { to, data: encodeFunctionData({ abi: tokenAbi, functionName, args: [from, nonce] }) }
}

/** Reads the answer to {@link authorizationStateCall}. */
export function toIsUsed(result: CallResult | undefined): boolean | undefined {
  const value = wordOf(result)
  return value === undefined ? undefined : value !== 0n
}

/**
 * Finds out why a token refuses a transfer, in one request.
 *
 * Each token words its reverts in its own way, so the state they depend on is read instead.
 *
 * @throws {@link ChainError}
 */
export async function diagnoseTransfer(
  chain: Chain,
  asset: SettlementAsset,
  { authorization, signature }: SignedAuthorization,
): Promise<Reason> {
  const { from, to, nonce, value, validAfter, validBefore } = authorization
  const domainData = encodeFunctionData({ abi: tokenAbi, functionName: 'DOMAIN_SEPARATOR' })
  const [state, balance, separator, clock, ...operator] = await chain.callMany([
    authorizationStateCall({ contract: asset.address, from, nonce }),
    balanceCall(asset.address, from),
    { to: asset.address, data: domainData },
    clockCall(),
    ...operatorCalls(asset.address, from, to),
  ])

  const isUsed = toIsUsed(state)
  if (isUsed === undefined) return 'invalid_exact_evm_eip3009_not_supported'
  if (isUsed) return 'invalid_exact_evm_nonce_already_used'
  const funds = wordOf(balance)
  if (funds !== undefined && funds < value) return 'insufficient_funds'
  // A chain's clock stands at its last block: behind ours, if none was mined for a while.
  const time = wordOf(clock)
  if (time !== undefined && time <= validAfter)
    return 'invalid_exact_evm_payload_authorization_valid_after'
  if (time !== undefined && time >= validBefore)
    return 'invalid_exact_evm_payload_authorization_valid_before'
  const stopped = operatorReason(operator)
  if (stopped !== undefined) return stopped
  // The payer was asked to sign with our domain: it must be the token's own.
  const domain = wordOf(separator)
  if (domain !== undefined && domain !== BigInt(separatorOf(asset)))
    return 'invalid_payment_requirements'
  // A contract account's signature was not checked before: only its own code can do that.
  if (typeof signature === 'string') return 'invalid_exact_evm_payload_signature'
  return 'invalid_exact_evm_transaction_simulation_failed'
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
