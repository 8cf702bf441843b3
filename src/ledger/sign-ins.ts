/** Buyers who sign in, and the access that they have paid for. */
import type { Address } from '../shared/protocol/payment.js'
import { bytesOf } from '../shared/protocol/hex.js'
import { world } from '../shared/world.js'
import { timeOnce, type SqlStore } from './engine/store.js'

/** How long a nonce is kept once it was taken (ms): longer than any gateway's clock takes it for good. */
export const NONCES_KEPT_MS = 480_000

/** Time between two purges. */
const PURGE_EVERY_MS = 60_000

/** Nonces that one statement deletes. */
const AT_ONCE = 500

export interface AccessQuery {
  readonly payer: Address
  /** {@link BoughtAccess.key} */
  readonly key: string
  /** A contract account is somebody else on another chain. @defaultValue payments on any chain count */
  readonly chainId?: number | undefined
}

export class SignIns {
  readonly #store: SqlStore
  readonly #newName: () => string
  #purgedAt = world.elapsed()

  constructor(store: SqlStore, newName: () => string) {
    this.#store = store
    this.#newName = newName
  }

  /** Takes a nonce. @returns Whether nobody had taken it. */
  async take(nonce: string): Promise<boolean> {
    const claim = this.#newName()
    const isTaken = await this.#store.run(async ({ db, sql, now }) => {
      // The connection may have broken after the first attempt had ended well.
      const { rows } = await sql`
        INSERT INTO x402_sign_ins AS s (nonce, claim, taken_at) VALUES (${nonce}, ${claim}, ${now})
        ON CONFLICT (nonce) DO UPDATE SET taken_at = excluded.taken_at WHERE s.claim = ${claim}
        RETURNING 1 AS one`.execute(db)
      return rows.length === 1
    })
    void this.#purge().catch(() => undefined)
    return isTaken
  }

  /** Whether a payer has access: by a payment that was delivered, is settled, and is not paid back. */
  hasAccess({ payer, key, chainId }: AccessQuery): Promise<boolean> {
    return this.#store.run(async ({ db, now }) => {
      const paid = await db
        .selectFrom('x402_authorizations as paid')
        .select('id')
        .where('payer', '=', bytesOf(payer))
        .where('access', '=', key)
        .where('access_until', '>', timeOnce(db, now))
        .where('state', '=', 'settled')
        .where('delivered', '=', 1)
        .$if(chainId !== undefined, (query) => query.where('chain_id', '=', chainId ?? 0))
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('x402_authorizations as refund')
                .select('refund.id')
                .whereRef('refund.refund_of', '=', 'paid.id')
                .where('refund.state', '<>', 'failed'),
            ),
          ),
        )
        .limit(1)
        .executeTakeFirst()
      return paid !== undefined
    })
  }

  async #purge(): Promise<void> {
    if (world.elapsed() - this.#purgedAt < PURGE_EVERY_MS) return
    this.#purgedAt = world.elapsed()
    for (let count = AT_ONCE; count === AT_ONCE; await world.nextTurn())
      count = await this.#store.run(async ({ db, plus }) => {
        const kept = timeOnce(db, plus(-NONCES_KEPT_MS))
        const lapsed = db.selectFrom('x402_sign_ins').select('nonce').orderBy('taken_at')
        const purged = await db
          .deleteFrom('x402_sign_ins')
          .where('nonce', 'in', lapsed.where('taken_at', '<', kept).limit(AT_ONCE))
          .executeTakeFirst()
        return Number(purged.numDeletedRows)
      })
  }
}
