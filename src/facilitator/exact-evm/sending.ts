import { ChainError } from '../../errors.js'
import type { Ledger, Submission } from '../../ledger/ledger.js'
import type { Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import type { ExaminedPayment } from './examine.js'
import { prepareTransfer, withChangedPayer } from './prepare-transfer.js'

/** What came of sending a payment's transaction. */
export type Sent =
  /** A node was given it; in doubt where its answer was lost. */
  | { readonly submission: Submission; readonly inDoubt: boolean }
  | { readonly refused: Reason }
  /** No node took it, and none will be given it. */
  | { readonly rejected: true }

/** A payment's transaction on its way to the node. */
export interface Sending {
  /** Rejects when nothing was sent. */
  readonly sent: Promise<Sent>
  /** Resolves as soon as there is a transaction. */
  readonly written: Promise<Submission>
  /**
   * Nobody waits any longer: what was not written down by now will not be sent, and what was is not
   * taken back, for somebody else may take it up.
   *
   * @returns The transaction, and whether it is in the ledger; nothing where there will be none.
   */
  letGo(): { readonly submission: Submission; readonly stored: Promise<void> } | undefined
}

/**
 * Sends the transaction of a payment that is reserved.
 *
 * @param barred - One that was written down before, and will never be mined.
 */
export function startSending(
  ledger: Ledger,
  payment: ExaminedPayment,
  barred?: Submission,
): Sending {
  const { core, key } = payment
  let submission: Submission | undefined
  /** What was given up: should it be mined after all, it is still known as ours. */
  let givenUp: readonly Hex[] = barred ? [barred.transaction, ...(barred.replaces ?? [])] : []
  let stored: Promise<void> | undefined
  let isLetGo = false
  let announce: (written: Submission) => void
  const written = new Promise<Submission>((resolve) => {
    announce = resolve
  })

  const writeAhead = async (next: Submission): Promise<void> => {
    // A replacement under the same count is sent even then: at most one of them is ever mined.
    if (isLetGo && submission === undefined) throw tooLate()
    if (next.replaces !== undefined) {
      const replaces = [...next.replaces, ...givenUp]
      return submitReplacement(ledger, payment, { ...next, replaces })
    }
    if (submission !== undefined) givenUp = [submission.transaction, ...givenUp]
    stored = ledger.submit(key, { ...next, ...(givenUp.length > 0 && { replaces: givenUp }) })
    submission = next
    announce(next)
    await stored
  }

  const send = async (): Promise<Sent> => {
    await core.relayers.requireReady()
    const sent = await withChangedPayer(async (checked) => {
      const prepared = await prepareTransfer(payment, checked)
      if (typeof prepared === 'string') return prepared
      if (isLetGo) throw tooLate()
      return core.relayers.send({
        ...prepared,
        writeAhead,
        takeBack: async ({ transaction }) => {
          if (!isLetGo && barred === undefined) await ledger.withdraw(key, transaction)
        },
      })
    }, payment.checked)
    if (typeof sent === 'string') return { refused: sent }
    if (sent.outcome === 'rejected') return { rejected: true }
    return { submission: sent.submission, inDoubt: sent.outcome === 'unknown' }
  }

  return {
    sent: send(),
    written,
    letGo() {
      isLetGo = true
      return submission && stored && { submission, stored }
    },
  }
}

/** What is decided is not written anew; the transaction still has to be replaced, for its count. */
async function submitReplacement(
  ledger: Ledger,
  { key }: ExaminedPayment,
  next: Submission,
): Promise<void> {
  await ledger.submit(key, next).catch(async (error: unknown) => {
    const record = await ledger.find(key)
    if (record?.state !== 'settled' && record?.state !== 'failed') throw error
  })
}

/** Thrown where a settlement's time is over before anything was sent for it. */
export function tooLate(): ChainError {
  return new ChainError(
    'chain_unreachable',
    'The payment could not be sent in time; nothing was sent.',
  )
}
