/** Who is signed in to the console. */
import type { SqlStore } from './engine/store.js'

/** How much of the console a session may see: everything, or one project. */
export type ConsoleRole = 'admin' | 'merchant'

/** A session of the console. Neither its secret nor its token is kept, only their hashes. */
export interface ConsoleSession {
  /** SHA-256 of the secret in the cookie, in hexadecimal digits. */
  readonly hash: string
  readonly role: ConsoleRole
  /** SHA-256 of the token that it was opened with, in hexadecimal digits. It ends with this token. */
  readonly token: string
  readonly project?: string | undefined
  /** Unix time in milliseconds, by the clock of the gateway that wrote it; so is `usedAt`. */
  readonly createdAt: number
  /** To the minute. */
  readonly usedAt: number
}

export interface SessionLimits {
  /** Those that were created before, in milliseconds since the epoch. */
  readonly createdBefore: number
  /** Those that were last used before. */
  readonly usedBefore: number
  /** Sessions that one token may have: the least recently used ones beyond that are over. */
  readonly perToken: number
}

/** Keeps sessions in an SQL database, which several processes may share. */
export class Sessions {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  async add(session: ConsoleSession, limits: SessionLimits): Promise<void> {
    const { hash, role, token, project = null, createdAt, usedAt } = session
    await this.#store.run(async ({ db, sql }) => {
      await db
        .insertInto('x402_console_sessions')
        .values({ hash, role, token, project, created_at: createdAt, used_at: usedAt })
        // The connection may have broken after the first attempt had ended well.
        .onConflict((conflict) => conflict.column('hash').doNothing())
        .execute()
      await sql`DELETE FROM x402_console_sessions
        WHERE created_at < ${limits.createdBefore} OR used_at < ${limits.usedBefore}
          OR token = ${token} AND hash NOT IN (
            SELECT hash FROM x402_console_sessions WHERE token = ${token}
            ORDER BY used_at DESC LIMIT ${limits.perToken})`.execute(db)
    })
  }

  find(hash: string): Promise<ConsoleSession | undefined> {
    return this.#store.run(async ({ db }) => {
      const row = await db
        .selectFrom('x402_console_sessions')
        .selectAll()
        .where('hash', '=', hash)
        .executeTakeFirst()
      if (row === undefined) return undefined
      const { role, token, project, created_at, used_at } = row
      const times = { createdAt: Number(created_at), usedAt: Number(used_at) }
      return { hash, role, token, project: project ?? undefined, ...times }
    })
  }

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

  async remove(hash: string): Promise<void> {
    await this.#store.run(({ db }) =>
      db.deleteFrom('x402_console_sessions').where('hash', '=', hash).execute(),
    )
  }
}
