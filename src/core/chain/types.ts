/** Requests to a network, and its answers. */
import type { Address, Hex } from '../../shared/protocol/payment.js'

export interface Call {
  readonly to: Address
  readonly data: Hex
  /** The caller. @defaultValue the zero address */
  readonly from?: Address
}

/** A contract's answer: return data, or revert data (`0x` when there is none). */
export interface CallResult {
  readonly ok: boolean
  readonly data: Hex
}

/** Fees that a transaction offers (EIP-1559), in wei per gas. */
export interface FeeValues {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** Fees to offer now, and the last base fee, in wei per gas. */
export interface Fees extends FeeValues {
  readonly baseFeePerGas: bigint
}

export interface Log {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
}

export interface Block {
  readonly number: bigint
  /** Unix time in seconds. */
  readonly timestamp: bigint
}

export interface EventFilter {
  readonly address: Address
  /** By position. A list matches any of its members. */
  readonly topics: readonly (Hex | readonly Hex[])[]
  /** @defaultValue any */
  readonly data?: Hex
  readonly first: bigint
  readonly last: bigint
}

/** A transaction that emitted an event, and the block that has it: a reorganisation may move it. */
export interface FoundTransaction {
  readonly transaction: Hex
  readonly blockHash: Hex
}

export interface Receipt {
  readonly transaction: Hex
  readonly sender: Address
  /** The called address; `0x` when a contract was created. */
  readonly to: Address
  readonly succeeded: boolean
  readonly blockNumber: bigint
  /** The block when the receipt was read: a reorganisation may move the transaction to another. */
  readonly blockHash: Hex
  readonly logs: readonly Log[]
  /** Gas used, and the price paid for each unit of it in wei. */
  readonly gasUsed: bigint
  readonly gasPrice: bigint
  /** L1 data fee of a rollup, in wei. 0 on other chains. */
  readonly l1Fee: bigint
}

export interface SignedTransaction {
  readonly transaction: Hex
  readonly raw: Hex
}

/**
 * A node's answer to a transaction; `unknown` when it was lost: the node may have the transaction.
 *
 * `words` is what the node said, bounded, without its URL.
 */
export type Broadcast =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'unknown'; readonly words?: string | undefined }
  | { readonly kind: 'rejected'; readonly cause: RejectionCause; readonly words: string }

/**
 * Why a node rejected a transaction. `not_now`: because of the moment (rate limit, full pool, limit of
 * the account); the same bytes may be taken soon. `never_valid`: this node never takes these bytes.
 */
export type RejectionCause =
  'insufficient_gas_funds' | 'stale_nonce' | 'fee_too_low' | 'not_now' | 'never_valid' | 'other'

export interface Patience {
  readonly timeoutMs: number
  /** Ends the waiting early. */
  readonly signal: AbortSignal
}
