import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely'
import type { Hex } from '../../protocol/payment.js'
import type { Records } from '../ledger.js'
import { lockLost } from '../lock-lost.js'
import { recordId } from '../record.js'
import type { AuthorizationKey, KeyedSubmission, LedgerEntry, Submission } from '../record.js'
import { entryColumns, keyColumns } from './authorization-rows.js'
import type { OwnLocks } from './own-locks.js'
import { rowsInOrder } from './rows-in-order.js'
import type { LedgerDatabase } from './schema.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'

type Where = ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>
type Condition = Expression<SqlBool>

const ALREADY_USED = 'invalid_exact_evm_nonce_already_used'

const OPEN_STATES = ['reserved', 'submitted'] as const

/** How often a transaction is written down while others change the same records. */
const SUBMIT_ATTEMPTS = 3

/** Writes down transactions before they are sent. */
export class SqlSubmissions implements Pick<
  Records,
  'submit' | 'submitTogether' | 'withdrawTogether' | 'adopt' | 'knowsTransaction'
> {
  readonly #store: SqlStore
  readonly #locks: OwnLocks

  constructor(store: SqlStore, locks: OwnLocks) {
    this.#store = store
    this.#locks = locks
  }

  async submit(key: AuthorizationKey, submission: Submission): Promise<void> {
    const lost = await this.submitTogether([{ key, submission }])
    if (lost.length > 0) throw lockLost()
  }

  async submitTogether(members: readonly KeyedSubmission[]): Promise<readonly AuthorizationKey[]> {
    for (let attempt = 0; attempt < SUBMIT_ATTEMPTS; attempt++) {
      if (members.length === 0) return []
      if (await this.#store.run((database) => this.#submitAll(database, members))) return []
      const rows = await this.#store.run(({ db }) =>
        db
          .selectFrom('x402_authorizations')
          .select('id')
          .where((where) => this.#maySubmit(where, members))
          .execute(),
      )
      const free = new Set(rows.map(({ id }) => id))
      const lost = members.map(({ key }) => key).filter((key) => !free.has(recordId(key)))
      if (lost.length > 0) return lost
    }
    throw lockLost()
  }

  async withdrawTogether(keys: readonly AuthorizationKey[], transaction: Hex): Promise<void> {
    const ids = keys.map(recordId)
    const locks = keys.flatMap((key) => this.#locks.of(key) ?? [])
    const left = await this.#store.run((database) =>
      inOneChange(database, keys.length, async (db) => {
        if (locks.length > 0)
          await db
            .deleteFrom('x402_authorizations')
            .where(
              rowsInOrder(database, db, (where) =>
                where.and([
                  where('id', 'in', ids),
                  where('lock_owner', 'in', locks),
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
    // Also for records that were gone already, because the answer to a first attempt may be lost.
    for (const key of keys) if (!left.has(recordId(key))) this.#locks.drop(key)
  }

  adopt(entries: readonly LedgerEntry[], submission: Submission): Promise<void> {
    return this.#store.run((database) =>
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
    )
  }

  knowsTransaction(transaction: Hex): Promise<boolean> {
    return this.#store.run(async ({ db }) => {
      const named = await db
        .selectFrom('x402_authorizations')
        .select('id')
        .where('transaction_hash', '=', transaction)
        // A failed record may name a foreign transaction, which used its authorization.
        .where((where) =>
          where.or([where('state', '!=', 'failed'), where('reason', '!=', ALREADY_USED)]),
        )
        .limit(1)
        .executeTakeFirst()
      if (named !== undefined) return true
      // Final records name the transaction that was mined.
      const replaced = await db
        .selectFrom('x402_authorizations')
        .select('id')
        .where('state', '=', 'submitted')
        .where('replaces', 'like', `%${transaction}%`)
        .limit(1)
        .executeTakeFirst()
      return replaced !== undefined
    })
  }

  #submitAll(database: SqlDatabase, members: readonly KeyedSubmission[]): Promise<boolean> {
    return allOrNone(database, members.length, async (db) => {
      let changed = 0n
      for (const alike of bySubmission(members)) {
        const { numUpdatedRows } = await db
          .updateTable('x402_authorizations')
          .set({ ...submissionColumns(alike[0].submission), updated_at: database.now })
          .where(rowsInOrder(database, db, (where) => this.#maySubmit(where, alike)))
          .executeTakeFirst()
        changed += numUpdatedRows
      }
      return Number(changed)
    })
  }

  /** The records that may be written: those we have locked, and those whose transaction is replaced. */
  #maySubmit(where: Where, members: readonly KeyedSubmission[]): Condition {
    return where.or(
      members.map(({ key, submission: { relayer, accountNonce } }) => {
        const id = recordId(key)
        const lock = this.#locks.of(key)
        const sent = { relayer, account_nonce: accountNonce }
        const isReplaced = where.and({ id, state: 'submitted', ...sent })
        if (lock === undefined) return isReplaced
        const isOpen = where('state', 'in', OPEN_STATES)
        return where.or([isReplaced, where.and([where.and({ id, lock_owner: lock }), isOpen])])
      }),
    )
  }
}

/** The columns of a submitted transaction. */
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

/**
 * Groups members by their columns, one statement each. They differ only in the transactions that are
 * replaced.
 */
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

/** Changes several rows in one transaction. One row needs none. */
function inOneChange<T>(
  { db }: SqlDatabase,
  rows: number,
  work: (db: Kysely<LedgerDatabase>) => Promise<T>,
): Promise<T> {
  return rows === 1 ? work(db) : db.transaction().execute(work)
}

/** Changes exactly this many rows, or none. @returns Whether it did. */
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
