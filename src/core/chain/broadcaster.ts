import { ChainError } from '../../shared/errors.js'
import type { Hex } from '../../shared/protocol/payment.js'
import type { Broadcast, Receipt, RejectionCause, SignedTransaction } from './types.js'
import { classifyNodeError, nodeWords, type NodeErrorKind } from './node-errors.js'
import { receiptOf, type ReceiptWatch } from './receipt-watch.js'
import type { Rpc, RpcAnswer } from './rpc.js'
import { unwrap } from './rpc-values.js'
import { world } from '../../shared/world.js'

/** How often a transaction is sent again at once when the node's answer was lost. */
const BROADCAST_RETRIES = 1

/** How often a sync send is checked, and how long it may block the queue (ms). */
const SYNC_WAIT_MS = { step: 100, longest: 3000 }

/**
 * How long sync sends are not tried again after the node said that it has none (ms): it may
 * have been another node behind the same URL, or be upgraded.
 */
const NO_SYNC_MS = 600_000

/** JSON-RPC's error for a method that the node does not have. */
const METHOD_NOT_FOUND = -32601

/** Errors of EIP-7966 when the node has the transaction but it is not mined yet. */
const NOT_MINED_YET: readonly number[] = [4, 5, 6]

export interface BroadcasterOptions {
  readonly rpc: Rpc
  readonly receipts: ReceiptWatch
  /** Called with each receipt that came as the answer to a sync send. */
  readonly onReceipt: (receipt: Receipt) => void
}

/** Gives signed transactions to one node. */
export class Broadcaster {
  readonly #options: BroadcasterOptions
  /** When sync sends may be tried again, by `world.elapsed()`. */
  #noSyncUntil = -Infinity

  constructor(options: BroadcasterOptions) {
    this.#options = options
  }

  /** Sends a transaction without waiting for a block. */
  send(raw: Hex): Promise<Broadcast> {
    return this.#send(raw, false)
  }

  /**
   * Sends a transaction so that its receipt comes as the answer, where the node can do that
   * (EIP-7966).
   *
   * @param isAwaited - Whether others wait for this to end: it then ends as soon as the node is
   * known to have the transaction.
   */
  async sendSync(signed: SignedTransaction, isAwaited: () => boolean): Promise<Broadcast> {
    const { raw, transaction } = signed
    if (world.elapsed() < this.#noSyncUntil) return this.send(raw)
    const answering = this.#options.receipts.expect(transaction, this.#askSync(signed))
    const ended = new AbortController()
    void answering.catch(() => undefined).finally(() => ended.abort())
    const end = world.elapsed() + SYNC_WAIT_MS.longest
    for (;;) {
      const pause = world
        .sleep(SYNC_WAIT_MS.step, undefined, { signal: ended.signal })
        .catch(() => undefined)
      const answer = await Promise.race([answering, pause])
      if (answer !== undefined) return answer
      if (ended.signal.aborted) return answering
      const isLong = world.elapsed() > end
      if (!isLong && !isAwaited()) continue
      if ((await this.#find(transaction)) === 'there') return { kind: 'accepted' }
      if (isLong) return { kind: 'unknown' }
    }
  }

  /** @param wasLost - Whether the answer to an earlier attempt was lost. */
  async #send(raw: Hex, wasLost: boolean): Promise<Broadcast> {
    let lost = wasLost
    for (let attempt = 0; attempt <= BROADCAST_RETRIES; attempt++) {
      try {
        return broadcastOutcome(await this.#options.rpc.ask('eth_sendRawTransaction', [raw]), lost)
      } catch (error) {
        if (!(error instanceof ChainError)) throw error
        lost = true
      }
    }
    return { kind: 'unknown' }
  }

  async #askSync({ raw, transaction }: SignedTransaction): Promise<Broadcast> {
    try {
      const answer = await this.#options.rpc.ask('eth_sendRawTransactionSync', [raw])
      if (answer.ok) {
        this.#passReceiptOn(answer.result, transaction)
        return { kind: 'accepted' }
      }
      if (classifyNodeError(answer.error, 'sync') === 'unknown_method') {
        this.#noSyncUntil = world.elapsed() + NO_SYNC_MS
        // Without the code, a node with such words may have taken the transaction.
        return await this.#send(raw, answer.error.code !== METHOD_NOT_FOUND)
      }
      const refusal = broadcastOutcome(answer, NOT_MINED_YET.includes(answer.error.code))
      if (refusal.kind !== 'rejected') return refusal
      // The node may have taken it, and failed while it waited for a block.
      const isGone = (await this.#find(transaction)) === 'gone'
      return isGone ? refusal : { kind: 'unknown', words: refusal.words }
    } catch (error) {
      // It may wait longer for a block than we wait for an answer, or be lost.
      if (error instanceof ChainError) return this.#send(raw, true)
      throw error
    }
  }

  #passReceiptOn(value: unknown, transaction: Hex): void {
    const receipt = receiptOf(transaction, value)
    if (receipt === undefined) return
    this.#options.onReceipt(receipt)
    this.#options.receipts.deliver(receipt)
  }

  /** Whether the node has a transaction; `unknown` when it does not say. */
  async #find(transaction: Hex): Promise<'there' | 'gone' | 'unknown'> {
    try {
      const found = unwrap(await this.#options.rpc.read('eth_getTransactionByHash', [transaction]))
      return found === null ? 'gone' : 'there'
    } catch (error) {
      if (error instanceof ChainError) return 'unknown'
      throw error
    }
  }
}

/** @param lost - Whether the node may have taken the transaction at an earlier attempt. */
function broadcastOutcome(answer: RpcAnswer, lost: boolean): Broadcast {
  if (answer.ok) return { kind: 'accepted' }
  const kind = classifyNodeError(answer.error, 'send')
  if (kind === 'already_known') return { kind: 'accepted' }
  // What is refused now may have been taken before, or by another node behind the same URL.
  if (lost) return { kind: 'unknown' }
  const words = nodeWords(answer.error)
  if (kind === 'ambiguous' || kind === 'not_ready') return { kind: 'unknown', words }
  return { kind: 'rejected', cause: rejectionCause(kind), words }
}

function rejectionCause(kind: NodeErrorKind): RejectionCause {
  switch (kind) {
    case 'stale_nonce':
    case 'insufficient_gas_funds':
    case 'fee_too_low':
    case 'never_valid':
      return kind
    case 'rate_limited':
    case 'pool_full':
      return 'not_now'
    default:
      return 'other'
  }
}
