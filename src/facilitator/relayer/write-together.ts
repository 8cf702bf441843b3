import { LedgerError } from '../../errors.js'
import type { KeyedSubmission, Ledger, Submission } from '../../ledger/ledger.js'
import type { Waiting } from './group-commit.js'

/** Thrown where some of a batch may not be sent; nothing was written down then. */
export class LostMembers extends Error {
  /** Why, of each. */
  readonly lost: ReadonlyMap<Waiting, unknown>

  constructor(lost: ReadonlyMap<Waiting, unknown>) {
    super('Some payments of a batch may not be sent.')
    this.lost = lost
  }
}

/**
 * Writes down the transaction of a batch, in the records of all its members or of none.
 *
 * Nothing is kept between two calls: what failed once may be written down the next time.
 *
 * @throws {@link LostMembers}; {@link LedgerError} where it is not known whether they were written.
 */
export async function writeTogether(
  ledger: Pick<Ledger, 'find' | 'submitTogether'>,
  all: readonly Waiting[],
  submission: Submission,
): Promise<void> {
  const entries = prepareAll(all, submission)
  const isReplacement = submission.replaces !== undefined
  const writing = isReplacement ? replaceTogether(ledger, entries) : writeFirst(ledger, entries)
  if (!isReplacement)
    for (const { member } of all) {
      const stored = writing.then(() => undefined)
      // Who waits for it is told by the settlement itself.
      stored.catch(() => undefined)
      member.writing(submission, stored)
    }
  await writing
}

/** A member, and what its record is to say. */
interface Prepared extends KeyedSubmission {
  readonly one: Waiting
}

function prepareAll(all: readonly Waiting[], submission: Submission): readonly Prepared[] {
  const lost = new Map<Waiting, unknown>()
  const entries: Prepared[] = []
  for (const one of all) {
    const { key, prepare } = one.member
    try {
      entries.push({ one, key, submission: prepare(submission) })
    } catch (error) {
      lost.set(one, error)
    }
  }
  if (lost.size > 0) throw new LostMembers(lost)
  return entries
}

async function writeFirst(
  ledger: Pick<Ledger, 'submitTogether'>,
  entries: readonly Prepared[],
): Promise<void> {
  const lost = await ledger.submitTogether(entries)
  if (lost.length === 0) return
  const ofLost = entries.filter(({ key }) => lost.includes(key))
  throw new LostMembers(new Map(ofLost.map(({ one }) => [one, lostHold()])))
}

/** What is decided is not written anew; the transaction still has to be replaced, for its nonce. */
async function replaceTogether(
  ledger: Pick<Ledger, 'find' | 'submitTogether'>,
  entries: readonly Prepared[],
): Promise<void> {
  const lost = await ledger.submitTogether(entries)
  if (lost.length === 0) return
  for (const key of lost) {
    const record = await ledger.find(key)
    if (record?.state !== 'settled' && record?.state !== 'failed') throw lostHold()
  }
  const open = entries.filter(({ key }) => !lost.includes(key))
  if ((await ledger.submitTogether(open)).length > 0) throw lostHold()
}

function lostHold(): LedgerError {
  return new LedgerError('ledger_unavailable', 'This payment is no longer held: it was let go.')
}
