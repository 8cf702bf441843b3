import { LedgerError } from '../errors.js'
import type { KeyedSubmission, LedgerStore, Submission } from '../ledger/ledger.js'
import type { QueuedMember } from './transaction.js'

/** Thrown when some members of a batch may not be sent; nothing was recorded then. */
export class LostLocks extends Error {
  /** The reason for each of them. */
  readonly lost: ReadonlyMap<QueuedMember, unknown>

  constructor(lost: ReadonlyMap<QueuedMember, unknown>) {
    super('Some payments of a batch may not be sent.')
    this.lost = lost
  }
}

/**
 * Records the transaction of a batch for all its members, or for none.
 *
 * Keeps no state between calls: a write that failed once may succeed the next time.
 *
 * @throws {@link LostLocks}; {@link LedgerError} when it is unknown whether the records were written.
 */
export async function writeAhead(
  ledger: Pick<LedgerStore, 'find' | 'submitTogether'>,
  all: readonly QueuedMember[],
  submission: Submission,
): Promise<void> {
  const entries = toSubmissions(all, submission)
  const isReplacement = submission.replaces !== undefined
  const writing = isReplacement ? replaceTogether(ledger, entries) : writeFirst(ledger, entries)
  if (!isReplacement)
    for (const { member } of all) {
      const stored = writing.then(() => undefined)
      // The settlement itself reports a failure to its caller.
      stored.catch(() => undefined)
      member.onWriteAhead(submission, stored)
    }
  await writing
}

/** A member with its new record. */
interface PreparedRecord extends KeyedSubmission {
  readonly one: QueuedMember
}

function toSubmissions(
  all: readonly QueuedMember[],
  submission: Submission,
): readonly PreparedRecord[] {
  const lost = new Map<QueuedMember, unknown>()
  const entries: PreparedRecord[] = []
  for (const one of all) {
    const { key, toSubmission } = one.member
    try {
      entries.push({ one, key, submission: toSubmission(submission) })
    } catch (error) {
      lost.set(one, error)
    }
  }
  if (lost.size > 0) throw new LostLocks(lost)
  return entries
}

async function writeFirst(
  ledger: Pick<LedgerStore, 'submitTogether'>,
  entries: readonly PreparedRecord[],
): Promise<void> {
  const lost = await ledger.submitTogether(entries)
  if (lost.length === 0) return
  const ofLost = entries.filter(({ key }) => lost.includes(key))
  throw new LostLocks(new Map(ofLost.map(({ one }) => [one, lockLost()])))
}

/** Leaves final records as they are: the transaction still has to be replaced, for its nonce. */
async function replaceTogether(
  ledger: Pick<LedgerStore, 'find' | 'submitTogether'>,
  entries: readonly PreparedRecord[],
): Promise<void> {
  const lost = await ledger.submitTogether(entries)
  if (lost.length === 0) return
  for (const key of lost) {
    const record = await ledger.find(key)
    if (record?.state !== 'settled' && record?.state !== 'failed') throw lockLost()
  }
  const open = entries.filter(({ key }) => !lost.includes(key))
  if ((await ledger.submitTogether(open)).length > 0) throw lockLost()
}

function lockLost(): LedgerError {
  return new LedgerError('ledger_unavailable', 'This payment is no longer held: it was let go.')
}
