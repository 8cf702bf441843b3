/**
 * What the facilitator needs of a network.
 *
 * The only way from this package to a node: nothing outside this folder speaks JSON-RPC. Every
 * method throws `ChainError` when the node could not be asked or answered nonsense; a contract's
 * own refusal is a returned value, and no payment is ever called invalid because a node was down.
 */
import type { Address, Hex } from '../protocol/payment.js'
import type { Network } from '../protocol/networks.js'

/** A call that changes nothing. */
export interface Call {
  readonly to: Address
  readonly data: Hex
  /** Whose call it is; the zero address where it does not matter. */
  readonly from?: Address
}

/** What a contract answered: return data, or revert data (`0x` when it gave none). */
export interface CallResult {
  readonly ok: boolean
  readonly data: Hex
}

/** What a transaction offers for gas (EIP-1559), in wei. */
export interface FeeValues {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** What a transaction should offer now, and what the last block took, in wei per gas. */
export interface Fees extends FeeValues {
  readonly baseFeePerGas: bigint
}

/** An event of a mined transaction. */
export interface Log {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
}

/** Which events are looked for. */
export interface EventFilter {
  readonly address: Address
  readonly topics: readonly Hex[]
  /** How many blocks back. */
  readonly blocks: bigint
}

/** What became of a mined transaction. */
export interface Receipt {
  readonly transaction: Hex
  readonly sender: Address
  /** What was called; `0x` where a contract was created. */
  readonly to: Address
  readonly succeeded: boolean
  readonly blockNumber: bigint
  /** Of the block that held it when this was read: a reorganisation may put it into another. */
  readonly blockHash: Hex
  readonly logs: readonly Log[]
  /** Gas it took, and what each unit of it cost in wei. */
  readonly gasUsed: bigint
  readonly gasPrice: bigint
}

/** A signed transaction, and its hash. */
export interface SignedTransaction {
  readonly transaction: Hex
  readonly raw: Hex
}

/** What a node said to a transaction. `unknown` when its answer was lost: it may have it. */
export type Broadcast =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'rejected'; readonly cause: RejectionCause }

/** Why a node did not take a transaction. */
export type RejectionCause = 'insufficient_gas_funds' | 'stale_nonce' | 'fee_too_low' | 'other'

/** One network. */
export interface Chain {
  readonly network: Network
  /** Runs one call against the latest block. */
  call(call: Call): Promise<CallResult>
  /** Runs several calls against the same block, in one request. */
  callMany(calls: readonly Call[]): Promise<readonly CallResult[]>
  /**
   * Runs creation code against the latest block without deploying it: for questions that no contract
   * answers.
   *
   * Not every node does: what comes back may be anything.
   */
  runCode(code: Hex): Promise<CallResult>
  /** The code at an address, now: `0x` where there is none. */
  getCode(address: Address): Promise<Hex>
  /**
   * Tells whether there is code at an address: a contract or a delegated account. Known from the
   * last look, unless `fresh` asks for another: not for accounts that pay.
   */
  hasCode(address: Address, look?: 'fresh'): Promise<boolean>
  /** Native currency of an account, in wei. */
  getBalance(address: Address): Promise<bigint>
  /** Transactions an account has sent, those included that wait to be mined. */
  getPendingNonce(address: Address): Promise<number>
  /** Transactions of an account that are mined. */
  getMinedNonce(address: Address): Promise<number>
  /** The number of the latest block. */
  getBlockNumber(): Promise<bigint>
  /** Tells whether the node has a transaction, mined or waiting. */
  hasTransaction(transaction: Hex): Promise<boolean>
  /**
   * Gas a call takes as a transaction, or the revert data of one that would fail.
   *
   * @param offer - The fees it would be sent with: contracts can read the price of gas.
   */
  estimateGas(call: Call, offer?: FeeValues): Promise<bigint | { readonly revert: Hex }>
  /** What a transaction should offer now. Known from the last look, unless `fresh` asks for another. */
  getFees(look?: 'fresh'): Promise<Fees>
  /** The transactions of the last blocks that emitted an event. */
  findTransactions(event: EventFilter): Promise<readonly Hex[]>
  /** Hands a signed transaction to the node. Never throws for an answer that was lost. */
  broadcast(raw: Hex): Promise<Broadcast>
  /**
   * The same, where a receipt may come as the answer once the transaction is mined, so that nobody
   * has to ask for it.
   *
   * @param isAwaited - Whether others wait for this to end: it then ends as soon as the node is
   * known to have the transaction.
   */
  broadcastSync(signed: SignedTransaction, isAwaited: () => boolean): Promise<Broadcast>
  /** The receipt of a transaction, once it is mined. */
  getReceipt(transaction: Hex): Promise<Receipt | undefined>
  /**
   * Waits for a receipt; survives a node that is away meanwhile.
   *
   * @param transactions - Those of which one will be mined; asked anew at every look, since a
   * transaction that is stuck is replaced.
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
