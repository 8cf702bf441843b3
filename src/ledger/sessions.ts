import type { ConsoleSession, SessionLimits } from './console-sessions.js'
import type { SqlStore } from './engine/store.js'

/** Keeps sessions in an SQL database, which several processes may share. */
export class Sessions {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  /** Adds a session, and drops those that are over. */
  async add(session: ConsoleSession, limits: SessionLimits): Promise<void> {
    const { hash, role, token, project = null, createdAt, usedAt } = session
    await this.#store.run(async ({ db }) => {
      await db
        .insertInto('x402_console_sessions')
        .values({ hash, role, token, project, created_at: createdAt, used_at: usedAt })
        // The connection may have broken after the first attempt had ended well.
        .onConflict((conflict) => conflict.column('hash').doNothing())
        .execute()
      const mostUsed = db
        .selectFrom('x402_console_sessions')
        .select('hash')
        .where('token', '=', token)
        .orderBy('used_at', 'desc')
        .limit(limits.perToken)
      await db
        .deleteFrom('x402_console_sessions')
        .where((where) =>
          where.or([
            where('created_at', '<', limits.createdBefore),
            where('used_at', '<', limits.usedBefore),
            where.and([where('token', '=', token), where('hash', 'not in', mostUsed)]),
          ]),
        )
        .execute()
    })
  }

  find(hash: string): Promise<ConsoleSession | undefined> {
    return this.#store.run(async ({ db }) => {
      const row = await db
        .selectFrom('x402_console_sessions')
        .selectAll()
        .where('hash', '=', hash)
        .executeTakeFirst()
      return (
        row && {
          ...{ hash, role: row.role, token: row.token, project: row.project ?? undefined },
          createdAt: Number(row.created_at),
          usedAt: Number(row.used_at),
        }
      )
    })
  }

  /** Notes that a session is in use. */
  async noteUse(hash: string, usedAt: number): Promise<void> {
    await this.#store.run(({ db }) =>
      db
        .updateTable('x402_console_sessions')
        .set({ used_at: usedAt })
        .where('hash', '=', hash)
        .where('used_at', '<', usedAt)
        .execute(),
    )
  }

  /** Ends a session, if it exists. */
  async remove(hash: string): Promise<void> {
    await this.#store.run(({ db }) =>
      db.deleteFrom('x402_console_sessions').where('hash', '=', hash).execute(),
    )
  }
}
