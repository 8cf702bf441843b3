/** Changes by an admin, each in one transaction with its entry of the audit log. */
import type { Kysely } from 'kysely'
import type { AuditedChange, ChangeAuthor, ChangeOutcome } from '../projects.js'
import { PROJECTS_VERSION } from '../schema/tables.js'
import type { LedgerDatabase } from '../schema/tables.js'
import type { SqlDatabase } from '../engine/store.js'
import { limited } from './limited.js'

/** Entries of the audit log that a project has at most: the oldest give way. */
const MAX_AUDIT = 10_000

export interface Changing {
  readonly db: Kysely<LedgerDatabase>
  readonly position: number
  /** Milliseconds since the epoch, by the database's clock. */
  readonly at: number
  readonly now: SqlDatabase['now']
  readonly sql: SqlDatabase['sql']
}

export class Undone extends Error {
  constructor(readonly outcome: ChangeOutcome) {
    super(outcome)
  }
}

/**
 * Makes one change after the other: each locks the row of the version until its transaction ends.
 *
 * @param make - Changes rows, or throws {@link Undone}.
 */
export async function makeChange(
  database: SqlDatabase,
  { actor, change: id }: ChangeAuthor,
  make: (changing: Changing) => Promise<AuditedChange>,
): Promise<ChangeOutcome> {
  try {
    await database.db.transaction().execute(async (db) => {
      const { position, at } = await startChange(database, db)
      // The connection may have broken after the first attempt had ended well.
      if (await wasMade(db, id)) throw new Undone('done')
      const { before, after, ...change } = await make({ ...database, db, position, at })
      const objects = {
        before: before === undefined ? null : JSON.stringify(before),
        after: after === undefined ? null : JSON.stringify(after),
      }
      await db
        .insertInto('x402_audit_log')
        .values({ id, position, at, actor, ...change, ...objects })
        .execute()
      const log = { project: change.project, most: MAX_AUDIT }
      await limited({ ...database, db }, 'x402_audit_log', log).keepNewest()
    })
    return 'done'
  } catch (error) {
    if (error instanceof Undone) return error.outcome
    throw error
  }
}

async function startChange(
  { now }: SqlDatabase,
  db: Kysely<LedgerDatabase>,
): Promise<Pick<Changing, 'position' | 'at'>> {
  const { version } = await db
    .updateTable('x402_versions')
    .set((set) => ({ version: set('version', '+', 1).$castTo<number>() }))
    .where('name', '=', PROJECTS_VERSION)
    .returning('version')
    .executeTakeFirstOrThrow()
  // PostgreSQL's driver reads it as text.
  const time = now.$castTo<number | string>()
  const { at } = await db.selectNoFrom(time.as('at')).executeTakeFirstOrThrow()
  return { position: Number(version), at: Number(at) }
}

async function wasMade(db: Kysely<LedgerDatabase>, id: string): Promise<boolean> {
  const query = db.selectFrom('x402_audit_log').select('position').where('id', '=', id)
  return (await query.executeTakeFirst()) !== undefined
}
