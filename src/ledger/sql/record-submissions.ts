import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely'
import { LedgerError } from '../../errors.js'
import { recordId } from '../ledger.js'
import type { AuthorizationKey, KeyedSubmission, LedgerStore, Submission } from '../ledger.js'
import { entryColumns, keyColumns } from './authorization-rows.js'
import type { Locks } from './locks.js'
import type { LedgerDatabase } from './schema.js'
import { rowsInOrder } from './rows-in-order.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'

type Where = ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>
type Condition = Expression<SqlBool>

/** How a ledger writes down transactions before they are sent. */
export function recordSubmissions(
  { run }: SqlStore,
  locks: Locks,
): Pick<
  LedgerStore,
  'submit' | 'submitTogether' | 'withdraw' | 'withdrawTogether' | 'adopt' | 'knowsTransaction'
> {
  /** Which records may be written: what the caller locks, or what is replaced. */
  const maySubmit =
    (members: readonly KeyedSubmission[]) =>
    (where: Where): Condition =>
      where.or(
        members.map(({ key, submission: { relayer, accountNonce } }) => {
          const id = recordId(key)
          const lock = locks.of(key)
          const sent = { relayer, account_nonce: accountNonce }
          const isReplaced = where.and({ id, state: 'submitted', ...sent })
          if (lock === undefined) return isReplaced
          const isOpen = where('state', 'in', OPEN_STATES)
          return where.or([isReplaced, where.and([where.and({ id, lock_owner: lock }), isOpen])])
        }),
      )

  const submitAll = (
    database: SqlDatabase,
    members: readonly KeyedSubmission[],
  ): Promise<boolean> =>
    allOrNone(database, members.length, async (db) => {
      let changed = 0n
      for (const alike of bySubmission(members)) {
        const { numUpdatedRows } = await db
          .updateTable('x402_authorizations')
          .set({ ...submissionColumns(alike[0].submission), updated_at: database.now })
          .where(rowsInOrder(database, db, maySubmit(alike)))
          .executeTakeFirst()
        changed += numUpdatedRows
      }
      return Number(changed)
    })

  const submitTogether: LedgerStore['submitTogether'] = async (members) => {
    for (let attempt = 0; attempt < SUBMIT_ATTEMPTS; attempt++) {
      if (members.length === 0) return []
      if (await run((database) => submitAll(database, members))) return []
      const rows = await run(({ db }) =>
        db.selectFrom('x402_authorizations').select('id').where(maySubmit(members)).execute(),
      )
      const free = new Set(rows.map(({ id }) => id))
      const lost = members.map(({ key }) => key).filter((key) => !free.has(recordId(key)))
      if (lost.length > 0) return lost
    }
    throw lockLost()
  }

  const withdrawTogether: LedgerStore['withdrawTogether'] = async (keys, transaction) => {
    const ids = keys.map(recordId)
    const ours = keys.flatMap((key) => locks.of(key) ?? [])
    const left = await run((database) =>
      inOneChange(database, keys.length, async (db) => {
        if (ours.length > 0)
          await db
            .deleteFrom('x402_authorizations')
            .where(
              rowsInOrder(database, db, (where) =>
                where.and([
                  where('id', 'in', ids),
                  where('lock_owner', 'in', ours),
                  where('state', '=', 'submitted'),
                  where('transaction_hash', '=', transaction),
                ]),
              ),
            )
            .execute()
        const rows = await db
          .selectFrom('x402_authorizations')
          .select(['id', 'state', 'transaction_hash'])
          .where('id', 'in', ids)
          .execute()
        const isOthers = rows.some(
          (row) => row.state === 'submitted' && row.transaction_hash === transaction,
        )
        if (isOthers) throw lockLost()
        return new Set(rows.map(({ id }) => id))
      }),
    )
    // Also of what was gone already: the answer to a first try may have been lost.
    for (const key of keys) if (!left.has(recordId(key))) locks.drop(key)
  }

  return {
    async submit(key, submission) {
      const lost = await submitTogether([{ key, submission }])
      if (lost.length > 0) throw lockLost()
    },
    submitTogether,
    withdraw: (key, transaction) => withdrawTogether([key], transaction),
    withdrawTogether,

    adopt: (entries, submission) =>
      run((database) =>
        inOneChange(database, entries.length, async (db) => {
          const { now } = database
          const submitted = { ...submissionColumns(submission), updated_at: now }
          for (const entry of entries.toSorted(byId))
            await db
              .insertInto('x402_authorizations')
              .values({
                ...keyColumns(entry),
                ...entryColumns(entry),
                ...submitted,
                lock_owner: null,
                locked_until: 0,
                created_at: now,
              })
              .onConflict((conflict) =>
                conflict
                  .columns(['chain_id', 'asset', 'payer', 'nonce'])
                  .doUpdateSet(submitted)
                  .where('x402_authorizations.state', '=', 'reserved'),
              )
              .execute()
        }),
      ),

    knowsTransaction: (transaction) =>
      run(async ({ db }) => {
        const named = await db
          .selectFrom('x402_authorizations')
          .select('id')
          .where('transaction_hash', '=', transaction)
          // A failed payment may name the transaction of another ledger, that used its authorization.
          .where((where) =>
            where.or([where('state', '!=', 'failed'), where('reason', '!=', ALREADY_USED)]),
          )
          .limit(1)
          .executeTakeFirst()
        if (named !== undefined) return true
        // Of what is final, the transaction that was mined is named.
        const replaced = await db
          .selectFrom('x402_authorizations')
          .select('id')
          .where('state', '=', 'submitted')
          .where('replaces', 'like', `%${transaction}%`)
          .limit(1)
          .executeTakeFirst()
        return replaced !== undefined
      }),
  }
}

const ALREADY_USED = 'invalid_exact_evm_nonce_already_used'

const OPEN_STATES = ['reserved', 'submitted'] as const

/** Times a transaction is written down while others change the same records. */
const SUBMIT_ATTEMPTS = 3

/** The columns of a transaction that is written down. */
function submissionColumns(submission: Submission) {
  const { transaction, relayer, accountNonce, raw, replaces } = submission
  return {
    state: 'submitted',
    transaction_hash: transaction,
    relayer,
    account_nonce: accountNonce,
    raw,
    replaces: replaces?.join(',') ?? null,
  } as const
}

/** Those that are written down alike: all of them, but for what some of them were sent in before. */
function bySubmission(members: readonly KeyedSubmission[]) {
  const groups = new Map<string, [KeyedSubmission, ...KeyedSubmission[]]>()
  for (const member of members) {
    const replaces = member.submission.replaces?.join() ?? ''
    const group = groups.get(replaces)
    if (group === undefined) groups.set(replaces, [member])
    else group.push(member)
  }
  return groups.values()
}

/** Makes several changes as one. */
function inOneChange<T>(
  { db }: SqlDatabase,
  rows: number,
  work: (db: Kysely<LedgerDatabase>) => Promise<T>,
): Promise<T> {
  return rows === 1 ? work(db) : db.transaction().execute(work)
}

/** Changes so many rows, or none. @returns Whether it did. */
async function allOrNone(
  database: SqlDatabase,
  rows: number,
  change: (db: Kysely<LedgerDatabase>) => Promise<number>,
): Promise<boolean> {
  const undone = new Error('Not all rows could be changed.')
  try {
    await inOneChange(database, rows, async (db) => {
      if ((await change(db)) < rows) throw undone
    })
    return true
  } catch (error) {
    if (error !== undone) throw error
    return false
  }
}

function byId(one: AuthorizationKey, other: AuthorizationKey): number {
  return recordId(one) < recordId(other) ? -1 : 1
}

/** Of an error: the caller wants to change what it does not hold. */
export function lockLost(): LedgerError {
  return new LedgerError('ledger_unavailable', 'This payment is no longer locked: it was let go.')
}
