import { ChainError } from '../../../errors.js'
import type { Submission } from '../../../ledger/ledger.js'
import type { Hex } from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { VerifiedPayment } from '../verify/verify.js'
import { prepareTransfer, withChangedPayer } from './prepare-transfer.js'

/** What came of sending a payment's transaction. */
export type SubmitResult =
  /** A node was given it; in doubt where its answer was lost. */
  | { readonly submission: Submission; readonly isUnknown: boolean }
  | { readonly refused: Reason }
  /** No node took it, and none will be given it. */
  | { readonly rejected: true }

/** A payment's transaction on its way to the node. */
export interface TransferSubmission {
  /** Rejects when nothing was sent. */
  readonly sent: Promise<SubmitResult>
  /** Resolves as soon as there is a transaction. */
  readonly written: Promise<Submission>
  /**
   * Nobody waits any longer: what was not written down by now will not be sent, and what was is not
   * taken back, for somebody else may take it up.
   *
   * @returns The transaction, and whether it is in the ledger; nothing where there will be none.
   */
  detach(): { readonly submission: Submission; readonly stored: Promise<void> } | undefined
}

/**
 * Sends the transaction of a payment that is reserved.
 *
 * @param superseded - One that was written down before, and will never be mined.
 */
export function submitTransfer(
  payment: VerifiedPayment,
  superseded?: Submission,
): TransferSubmission {
  const { core, key } = payment
  let submission: Submission | undefined
  /** What was given up: should it be mined after all, it is still known as ours. */
  let givenUp: readonly Hex[] = superseded
    ? [superseded.transaction, ...(superseded.replaces ?? [])]
    : []
  let stored: Promise<void> | undefined
  let isDetached = false
  let announce: (written: Submission) => void
  const written = new Promise<Submission>((resolve) => {
    announce = resolve
  })

  /** All that is known to be ours under another hash than the next one. */
  const earlier = (): readonly Hex[] =>
    submission === undefined ? givenUp : [submission.transaction, ...givenUp]

  const toSubmission = (next: Submission): Submission => {
    // A replacement under the same count is sent even then: at most one of them is ever mined.
    if (isDetached && submission === undefined) throw settlementTimeout()
    const replaces = next.replaces === undefined ? earlier() : [...next.replaces, ...givenUp]
    return replaces.length === 0 ? next : { ...next, replaces: [...new Set(replaces)] }
  }

  const onWriteAhead = (next: Submission, isStored: Promise<void>): void => {
    givenUp = earlier()
    submission = next
    stored = isStored
    announce(next)
  }

  const send = async (): Promise<SubmitResult> => {
    await core.relayers.requireReady()
    const sent = await withChangedPayer(async (checked) => {
      const prepared = await prepareTransfer(payment, checked)
      if (typeof prepared === 'string') return prepared
      if (isDetached) throw settlementTimeout()
      return core.relayers.send({
        key,
        ...prepared,
        // Its record is there to stay: what shares its transaction could not be forgotten either.
        ...(superseded !== undefined && { isAlone: true }),
        toSubmission,
        onWriteAhead,
        canForget: () => !isDetached && superseded === undefined,
      })
    }, payment.checked)
    if (typeof sent === 'string') return { refused: sent }
    if (sent.kind === 'rejected') return { rejected: true }
    return { submission: sent.submission, isUnknown: sent.kind === 'unknown' }
  }

  return {
    sent: send(),
    written,
    detach() {
      isDetached = true
      return submission && stored && { submission, stored }
    },
  }
}

/** Thrown where a settlement's time is over before anything was sent for it. */
export function settlementTimeout(): ChainError {
  return new ChainError(
    'settlement_timeout',
    'The payment could not be sent in time; nothing was sent.',
  )
}
