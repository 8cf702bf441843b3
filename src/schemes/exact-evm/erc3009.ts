/** The token contract (ERC-3009): its calls, what they return, and why it refuses a transfer. */
import { encodeFunctionData, size, toFunctionSelector } from 'viem/utils'
import { addressWord, MULTICALL3, multicall3Abi, tokenAbi, word } from '../../chain/abi.js'
import type { Chain } from '../../chain/chain.js'
import type { Call, CallResult } from '../../chain/types.js'
import type { Authorization } from '../../protocol/authorization.js'
import type { Address, Hex } from '../../protocol/payment.js'
import type { PaymentKey } from '../../protocol/payment-key.js'
import type { Reason } from '../../protocol/reasons.js'

/** A token we settle, with its EIP-712 domain hashed once: ours, never the client's `extra`. */
export interface SettlementAsset {
  readonly address: Address
  readonly separator: Hex
  /** As configured here. */
  readonly symbol?: string
  readonly decimals?: number
}

/** An ECDSA signature in the one form that every token takes: low `s`, `v` 27 or 28. */
export interface EcdsaSignature {
  readonly r: Hex
  readonly s: Hex
  readonly v: 27 | 28
}

/** A signature as the token takes it: split for accounts with a key, whole for contracts. */
export type TransferSignature = EcdsaSignature | Hex

/** A transfer that is ready to be called. */
export interface SignedTransfer {
  readonly authorization: Authorization
  readonly signature: TransferSignature
}

/** What identifies an authorization: a nonce is used once per payer and token. */
type AuthorizationId = Omit<PaymentKey, 'chainId'>

/** What the chain says of an authorization, at one block. */
export interface AuthorizationState {
  /** Used or cancelled; unknown where the token does not say. */
  readonly isUsed: boolean | undefined
  /** The block's time, in Unix seconds; unknown where there is no Multicall3. */
  readonly time: bigint | undefined
}

/** The form that every token has, for signatures by a key. Encoded by hand: 7 µs, twice a payment; viem takes 67. */
const TRANSFER_BY_KEY = toFunctionSelector(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
)

const PAUSED = toFunctionSelector('paused()')
const IS_BLACKLISTED = toFunctionSelector('isBlacklisted(address)')
const BALANCE_OF = toFunctionSelector('balanceOf(address)')

/** The call of `transferWithAuthorization`. */
export function transferCall(
  { authorization, signature }: SignedTransfer,
  { asset, from }: { asset: Pick<SettlementAsset, 'address'>; from?: Address },
): Call {
  const data = transferData(authorization, signature)
  return { to: asset.address, data, ...(from && { from }) }
}

/** Asks for an account's balance of a token. */
export function balanceCall(token: Address, account: Address): Call {
  return { to: token, data: `${BALANCE_OF}${addressWord(account)}` }
}

/** Asks whether an authorization was used or cancelled. */
export function authorizationStateCall({ contract: to, from, nonce }: AuthorizationId): Call {
  const functionName = 'authorizationState'
  return { to, data: encodeFunctionData({ abi: tokenAbi, functionName, args: [from, nonce] }) }
}

/** Reads the answer to {@link authorizationStateCall}. */
export function toIsUsed(result: CallResult | undefined): boolean | undefined {
  const value = wordOf(result)
  return value === undefined ? undefined : value !== 0n
}

/** One 32-byte word that a contract returned, as a number. */
export function wordOf(result: CallResult | undefined): bigint | undefined {
  return result?.ok && size(result.data) === 32 ? BigInt(result.data) : undefined
}

/**
 * Asks for an authorization's state, and for the time of the block that it is read at.
 *
 * @throws {@link ChainError}
 */
export async function readAuthorization(
  chain: Chain,
  id: AuthorizationId,
): Promise<AuthorizationState> {
  const [state, time] = await chain.callMany([authorizationStateCall(id), clockCall()])
  return { isUsed: toIsUsed(state), time: wordOf(time) }
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
  { authorization, signature }: SignedTransfer,
): Promise<Reason> {
  const { from, to, nonce, value, validAfter, validBefore } = authorization
  const ask = (data: Hex): Call => ({ to: asset.address, data })
  const [state, balance, separator, clock, paused, payerBlocked, payeeBlocked] =
    await chain.callMany([
      authorizationStateCall({ contract: asset.address, from, nonce }),
      balanceCall(asset.address, from),
      ask(encodeFunctionData({ abi: tokenAbi, functionName: 'DOMAIN_SEPARATOR' })),
      clockCall(),
      // Circle's tokens have these; others may not.
      ask(PAUSED),
      ask(`${IS_BLACKLISTED}${addressWord(from)}`),
      ask(`${IS_BLACKLISTED}${addressWord(to)}`),
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
  if (wordOf(paused) === 1n) return 'token_paused'
  if (wordOf(payerBlocked) === 1n) return 'payer_blacklisted'
  if (wordOf(payeeBlocked) === 1n) return 'pay_to_blacklisted'
  // The payer was asked to sign with our domain: it must be the token's own.
  const domain = wordOf(separator)
  if (domain !== undefined && domain !== BigInt(asset.separator))
    return 'invalid_payment_requirements'
  // A contract account's signature was not checked before: only its own code can do that.
  if (typeof signature === 'string') return 'invalid_exact_evm_payload_signature'
  return 'invalid_exact_evm_transaction_simulation_failed'
}

function clockCall(): Call {
  const functionName = 'getCurrentBlockTimestamp'
  return { to: MULTICALL3, data: encodeFunctionData({ abi: multicall3Abi, functionName }) }
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
