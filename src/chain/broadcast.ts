import { setTimeout as sleep } from 'node:timers/promises'
import { ChainError } from '../errors.js'
import type { Hex } from '../protocol/payment.js'
import type { Broadcast, Receipt, RejectionCause, SignedTransaction } from './chain.js'
import type { ReceiptWatch } from './receipt-watch.js'
import { classifyNodeError, unusable, type NodeErrorKind } from './node-errors.js'
import type { Rpc, RpcAnswer } from './rpc.js'
import { receiptFrom, unwrap } from './rpc-values.js'

/** Times a transaction is handed over again at once when the node's answer was lost. */
const BROADCAST_RETRIES = 1

/**
 * Milliseconds between two looks whether others wait for one that waits for a block, and after which
 * it no longer lets anybody wait.
 */
const YIELD_MS = { step: 100, longest: 3000 }

/**
 * Milliseconds for which a node that said it cannot answer with receipts is not asked for them: it
 * may have been another node behind the same URL, or learn it.
 */
const NO_SYNC_MS = 600_000

/** JSON-RPC's error for a method that the node does not have. */
const METHOD_NOT_FOUND = -32601

/** Errors of EIP-7966 by which the node has the transaction, but no block has it yet. */
const NOT_MINED_YET: readonly number[] = [4, 5, 6]

/** What handing transactions to a node takes. */
export interface BroadcastOptions {
  readonly rpc: Rpc
  readonly receipts: ReceiptWatch
  /** Called with each receipt that came as the answer. */
  readonly onReceipt: (receipt: Receipt) => void
}

/** Hands signed transactions to one node. */
export interface Broadcaster {
  /** Hands one over, without waiting for a block. */
  send(raw: Hex): Promise<Broadcast>
  /** Hands one over and has its receipt come as the answer, where the node can do that (EIP-7966). */
  sendSync(signed: SignedTransaction, isAwaited: () => boolean): Promise<Broadcast>
}

/** Makes the one place from which transactions go out. */
export function createBroadcaster({ rpc, receipts, onReceipt }: BroadcastOptions): Broadcaster {
  let noSyncUntil = -Infinity

  const send = async (raw: Hex, wasLost = false): Promise<Broadcast> => {
    let lost = wasLost
    for (let attempt = 0; attempt <= BROADCAST_RETRIES; attempt++) {
      try {
        return broadcastOutcome(await rpc.ask('eth_sendRawTransaction', [raw]), lost)
      } catch (error) {
        if (!(error instanceof ChainError)) throw error
        lost = true
      }
    }
    return { kind: 'unknown' }
  }

  const noteReceipt = (value: unknown, transaction: Hex): void => {
    const receipt = receiptFrom(value)
    if (receipt === undefined) return
    if (receipt.transaction.toLowerCase() !== transaction.toLowerCase())
      throw unusable('the receipt of another transaction')
    onReceipt(receipt)
    receipts.note(receipt)
  }

  /** Whether the node has it; `unknown` where it does not say. */
  const look = async (transaction: Hex): Promise<'there' | 'gone' | 'unknown'> => {
    try {
      const found = unwrap(await rpc.read('eth_getTransactionByHash', [transaction]))
      return found === null ? 'gone' : 'there'
    } catch (error) {
      if (error instanceof ChainError) return 'unknown'
      throw error
    }
  }

  const askSync = async ({ raw, transaction }: SignedTransaction): Promise<Broadcast> => {
    try {
      const answer = await rpc.ask('eth_sendRawTransactionSync', [raw])
      if (answer.ok) {
        noteReceipt(answer.result, transaction)
        return { kind: 'accepted' }
      }
      if (classifyNodeError(answer.error, 'sync') === 'unknown_method') {
        noSyncUntil = performance.now() + NO_SYNC_MS
        // Words alone may be those of a node that has taken it.
        return await send(raw, answer.error.code !== METHOD_NOT_FOUND)
      }
      const refusal = broadcastOutcome(answer, NOT_MINED_YET.includes(answer.error.code))
      if (refusal.kind !== 'rejected') return refusal
      // It may have been taken, and something have gone wrong while it waited for a block.
      return (await look(transaction)) === 'gone' ? refusal : { kind: 'unknown' }
    } catch (error) {
      // It may wait for a block for longer than an answer is waited for, or be lost.
      if (error instanceof ChainError) return send(raw, true)
      throw error
    }
  }

  return {
    send: (raw) => send(raw),
    async sendSync(signed, isAwaited) {
      const { raw, transaction } = signed
      if (performance.now() < noSyncUntil) return send(raw)
      const answering = receipts.expect(transaction, askSync(signed))
      const ended = new AbortController()
      void answering.catch(() => undefined).finally(() => ended.abort())
      const end = performance.now() + YIELD_MS.longest
      for (;;) {
        const pause = sleep(YIELD_MS.step, undefined, { signal: ended.signal }).catch(
          () => undefined,
        )
        const answer = await Promise.race([answering, pause])
        if (answer !== undefined) return answer
        if (ended.signal.aborted) return answering
        const isLong = performance.now() > end
        if (!isLong && !isAwaited()) continue
        if ((await look(transaction)) === 'there') return { kind: 'accepted' }
        if (isLong) return { kind: 'unknown' }
      }
    },
  }
}

/** @param lost - Whether the node may have taken the transaction at an earlier try. */
function broadcastOutcome(answer: RpcAnswer, lost: boolean): Broadcast {
  if (answer.ok) return { kind: 'accepted' }
  const kind = classifyNodeError(answer.error, 'send')
  if (kind === 'already_known') return { kind: 'accepted' }
  // What was refused now may have been taken before, or be taken by the node behind this one.
  if (lost || kind === 'ambiguous') return { kind: 'unknown' }
  return { kind: 'rejected', cause: rejectionCause(kind) }
}

function rejectionCause(kind: NodeErrorKind): RejectionCause {
  switch (kind) {
    case 'stale_nonce':
      return 'stale_nonce'
    case 'insufficient_gas_funds':
    case 'fee_too_low':
      return kind
    default:
      return 'other'
  }
}
