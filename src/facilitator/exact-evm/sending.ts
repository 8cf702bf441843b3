import { ChainError } from '../../errors.js'
import type { Submission } from '../../ledger/ledger.js'
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
export function startSending(payment: ExaminedPayment, barred?: Submission): Sending {
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

  /** All that is known to be ours under another hash than the next one. */
  const earlier = (): readonly Hex[] =>
    submission === undefined ? givenUp : [submission.transaction, ...givenUp]

  const prepare = (next: Submission): Submission => {
    // A replacement under the same count is sent even then: at most one of them is ever mined.
    if (isLetGo && submission === undefined) throw tooLate()
    const replaces = next.replaces === undefined ? earlier() : [...next.replaces, ...givenUp]
    return replaces.length === 0 ? next : { ...next, replaces: [...new Set(replaces)] }
  }

  const writing = (next: Submission, isStored: Promise<void>): void => {
    givenUp = earlier()
    submission = next
    stored = isStored
    announce(next)
  }

  const send = async (): Promise<Sent> => {
    await core.relayers.requireReady()
    const sent = await withChangedPayer(async (checked) => {
      const prepared = await prepareTransfer(payment, checked)
      if (typeof prepared === 'string') return prepared
      if (isLetGo) throw tooLate()
      return core.relayers.send({
        key,
        ...prepared,
        // Its record is there to stay: what shares its transaction could not be forgotten either.
        ...(barred !== undefined && { isAlone: true }),
        prepare,
        writing,
        mayForget: () => !isLetGo && barred === undefined,
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

/** Thrown where a settlement's time is over before anything was sent for it. */
export function tooLate(): ChainError {
  return new ChainError(
    'settlement_timeout',
    'The payment could not be sent in time; nothing was sent.',
  )
}
