import type { SqlStore } from './engine/store.js'
import { world } from '../shared/world.js'

/** Random secrets that all processes share which use the same ledger. */
export class Secrets {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  sharedSecret(name: string): Promise<string> {
    return this.#store.run(async ({ db }) => {
      const secret = world.randomBytes(32).toString('base64url')
      await db
        .insertInto('x402_secrets')
        .values({ name, secret })
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute()
      // The secret of the process that was first.
      const row = await db
        .selectFrom('x402_secrets')
        .select('secret')
        .where('name', '=', name)
        .executeTakeFirstOrThrow()
      return row.secret
    })
  }
}
