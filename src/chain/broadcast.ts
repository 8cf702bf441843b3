import { setTimeout as sleep } from 'node:timers/promises'
import { ChainError } from '../errors.js'
import type { Hex } from '../protocol/payment.js'
import type { Broadcast, Receipt, RejectionCause, SignedTransaction } from './chain.js'
import type { ReceiptWatch } from './receipt-watch.js'
import type { Rpc, RpcAnswer, RpcFailure } from './rpc.js'
import { receiptFrom, unwrap } from './rpc-values.js'

/** Times a transaction is handed over again at once when the node's answer was lost. */
const BROADCAST_RETRIES = 1

/**
 * Milliseconds between two looks whether others wait for one that waits for a block, and after which
 * it no longer lets anybody wait.
 */
const YIELD_MS = { step: 100, longest: 3000 }

/** How nodes word that they may have taken a transaction all the same. */
const OUTCOME_IN_DOUBT = /timeout|timed out|deadline|internal error|unavailable|try again/i

/** How nodes word that a transaction offers less than the next block takes. */
const FEE_TOO_LOW =
  /underpriced|below (current )?base ?fee|less than (block )?base ?fee|fee ?too ?low/i

/** How nodes word that they do not know a method. */
const UNKNOWN_METHOD =
  /method .*(not|n't)|not (supported|available|allowed|found|implemented)|unsupported|unknown method/i

/** JSON-RPC's internal error: something broke in the node, nobody knows when. */
const INTERNAL_ERROR = -32603

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
  let hasSync = true

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
    return { outcome: 'unknown' }
  }

  const noteReceipt = (value: unknown): void => {
    const receipt = receiptFrom(value)
    if (receipt === undefined) return
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
        noteReceipt(answer.result)
        return { outcome: 'accepted' }
      }
      const { code, message } = answer.error
      if (code === METHOD_NOT_FOUND || UNKNOWN_METHOD.test(message)) {
        hasSync = false
        return await send(raw)
      }
      const refusal = broadcastOutcome(answer, NOT_MINED_YET.includes(code))
      if (refusal.outcome !== 'rejected') return refusal
      // It may have been taken, and something have gone wrong while it waited for a block.
      return (await look(transaction)) === 'gone' ? refusal : { outcome: 'unknown' }
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
      if (!hasSync) return send(raw)
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
        if ((await look(transaction)) === 'there') return { outcome: 'accepted' }
        if (isLong) return { outcome: 'unknown' }
      }
    },
  }
}

/** @param lost - Whether the node may have taken the transaction at an earlier try. */
function broadcastOutcome(answer: RpcAnswer, lost: boolean): Broadcast {
  if (answer.ok) return { outcome: 'accepted' }
  const { code, message } = answer.error
  if (isKnownAlready(answer.error)) return { outcome: 'accepted' }
  // What was refused now may have been taken before, or be taken by the node behind this one.
  if (lost || code === INTERNAL_ERROR || OUTCOME_IN_DOUBT.test(message))
    return { outcome: 'unknown' }
  return { outcome: 'rejected', because: rejectionCause(message) }
}

function isKnownAlready({ message }: RpcFailure): boolean {
  return /already (known|exists|imported)|known transaction/i.test(message)
}

function rejectionCause(message: string): RejectionCause {
  if (/nonce too low|replacement transaction underpriced/i.test(message))
    return 'stale_transaction_count'
  if (/insufficient funds/i.test(message)) return 'insufficient_gas_funds'
  if (FEE_TOO_LOW.test(message)) return 'fee_too_low'
  return 'other'
}
