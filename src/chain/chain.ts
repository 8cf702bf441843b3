/**
 * Dependencies of the facilitator on a network.
 *
 * The only access to a node: nothing outside this folder speaks JSON-RPC. Every method throws
 * `ChainError` when the node did not answer, or not usefully. A contract's revert is a returned
 * value, so that no payment is called invalid because a node was down.
 */
import type { Address, Hex } from '../protocol/payment.js'
import type { Network } from '../protocol/networks.js'

/** A contract call. */
export interface Call {
  readonly to: Address
  readonly data: Hex
  /** The caller. @defaultValue the zero address */
  readonly from?: Address
}

/** What a contract answered: return data, or revert data (`0x` when there is none). */
export interface CallResult {
  readonly ok: boolean
  readonly data: Hex
}

/** What a transaction offers for gas (EIP-1559), in wei per gas. */
export interface FeeValues {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** What a transaction should offer now, and the last base fee, in wei per gas. */
export interface Fees extends FeeValues {
  readonly baseFeePerGas: bigint
}

/** An event of a mined transaction. */
export interface Log {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
}

/** A block. */
export interface Block {
  readonly number: bigint
  /** Unix time in seconds. */
  readonly timestamp: bigint
}

/** Selects events of recent blocks. */
export interface EventFilter {
  readonly address: Address
  readonly topics: readonly Hex[]
  /** How many blocks back from the latest one. */
  readonly blocks: bigint
}

/** The receipt of a mined transaction. */
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
}

/** A signed transaction with its hash. */
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

/** One network. */
export interface Chain {
  readonly network: Network
  /** Runs one call against the latest block. */
  call(call: Call): Promise<CallResult>
  /** Runs several calls against the same block, in one request. */
  callMany(calls: readonly Call[]): Promise<readonly CallResult[]>
  /**
   * Runs creation code against the latest block without deploying it, for questions that no contract
   * answers. Not every node supports that: the result may be anything.
   */
  runCode(code: Hex): Promise<CallResult>
  /** The code at an address now; `0x` when there is none. */
  getCode(address: Address): Promise<Hex>
  /**
   * Whether there is code at an address: a contract or a delegated account. Cached; `fresh` asks the
   * node, which is required for payers.
   */
  hasCode(address: Address, freshness?: 'fresh'): Promise<boolean>
  /** The native currency of an account, in wei. */
  getBalance(address: Address): Promise<bigint>
  /** The next account nonce, pending transactions included. */
  getPendingNonce(address: Address): Promise<number>
  /** The next account nonce, pending transactions excluded. */
  getMinedNonce(address: Address): Promise<number>
  /** The number of the latest block. */
  getBlockNumber(): Promise<bigint>
  /**
   * Asks the node for its chain id, unless it has given it before.
   *
   * @throws {@link ChainError} `chain_mismatch` where it is on another chain.
   */
  checkId(): Promise<void>
  /**
   * The latest block of a node that has just said which chain it is on.
   *
   * @throws {@link ChainError} `chain_mismatch` where that is another one.
   */
  getLatestBlock(): Promise<Block>
  /** Whether the node has a transaction, mined or pending. */
  hasTransaction(transaction: Hex): Promise<boolean>
  /**
   * Estimates the gas of a call as a transaction; returns the revert data of one that would fail.
   *
   * @param fees - The fees it would be sent with: contracts can read the gas price.
   */
  estimateGas(call: Call, fees?: FeeValues): Promise<bigint | { readonly revert: Hex }>
  /** What a transaction should offer now. Cached; `fresh` asks the node. */
  getFees(freshness?: 'fresh'): Promise<Fees>
  /** The transactions of recent blocks that emitted an event. */
  findTransactions(event: EventFilter): Promise<readonly Hex[]>
  /** Sends a signed transaction. A lost answer is `unknown`, not an error. */
  broadcast(raw: Hex): Promise<Broadcast>
  /**
   * Sends a signed transaction; where the node supports it, the answer comes with the receipt once
   * the transaction is mined, so that it need not be polled (EIP-7966).
   *
   * @param isAwaited - Whether others wait for this to end: it then ends as soon as the node is
   * known to have the transaction.
   */
  broadcastSync(signed: SignedTransaction, isAwaited: () => boolean): Promise<Broadcast>
  /** The receipt of a transaction, once it is mined. */
  getReceipt(transaction: Hex): Promise<Receipt | undefined>
  /**
   * Waits for a receipt, even while the node is down.
   *
   * @param transactions - Hashes of which one will be mined; called again at every poll, since a
   * stuck transaction is replaced.
   * @returns `undefined` when the time is over.
   */
  waitForReceipt(
    transactions: () => readonly Hex[],
    patience: Patience,
  ): Promise<Receipt | undefined>
}

/** How long to wait for something. */
export interface Patience {
  readonly timeoutMs: number
  /** Ends the waiting early. */
  readonly signal: AbortSignal
}
