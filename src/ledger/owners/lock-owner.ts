import { rowsInOrder, type SqlDatabase } from '../engine/store.js'
import { world } from '../../shared/world.js'

/** Time between two searches for dead owners (ms). */
const SEARCH_MS = 1000

/** Digits of an owner's id, and of the rest of a lock's name. */
const DIGITS = 16

/** Something that ends with its process, so that others see that the process is dead. */
export interface Liveness {
  /**
   * Shows that an owner lives, until {@link Liveness.end} or until its process dies.
   *
   * @returns `false` if it cannot: the locks of the owner then lapse by the clock only.
   */
  show(owner: string): Promise<boolean>
  /** Which of these owners, all of which have shown that they live, are dead. */
  findDead(owners: readonly string[]): Promise<readonly string[]>
  forget?(owner: string): void
  /** Ends the sign of life of this process. */
  end(): Promise<void>
}

/**
 * This process, as the owner of locks and of claims of idempotency keys.
 *
 * What it owns has a name that begins with its id. What a dead process owned lapses at once.
 */
export class LockOwner {
  readonly #id = world.randomBytes(DIGITS / 2).toString('hex')
  readonly #liveness: Liveness
  readonly #onFreed: (() => void)[] = []
  /** Set once the database is open. */
  #database: SqlDatabase | undefined
  #names = 0
  #timer: NodeJS.Timeout | undefined
  #search: Promise<void> | undefined

  constructor(liveness: Liveness) {
    this.#liveness = liveness
  }

  /** A name that no other lock or claim has: hexadecimal digits, so that all collations sort alike. */
  newName(): string {
    // A process that only reads is not written down.
    if (this.#names === 0 && this.#database !== undefined) this.#startSearch(this.#database)
    return this.#id + (this.#names++).toString(DIGITS).padStart(DIGITS, '0')
  }

  onFreed(listener: () => void): void {
    this.#onFreed.push(listener)
  }

  /** Shows that this process lives, and frees the locks of dead ones, now and from now on. */
  async start(database: SqlDatabase): Promise<void> {
    await this.#freeDead(database)
    this.#database = database
    this.#timer ??= world.setInterval(() => this.#startSearch(database), SEARCH_MS).unref()
  }

  async leave(database: SqlDatabase): Promise<void> {
    this.#stop()
    await this.#search
    if (this.#names > 0) await free(database, this.#id)
  }

  /** Ends what shows that this process lives. Never rejects. */
  async end(): Promise<void> {
    this.#stop()
    await this.#liveness.end().catch(() => undefined)
  }

  #stop(): void {
    world.clearInterval(this.#timer)
    this.#database = undefined
  }

  #startSearch(database: SqlDatabase): void {
    this.#search ??= this.#freeDead(database)
      // Until the next search, locks lapse by the clock.
      .catch(() => undefined)
      .finally(() => (this.#search = undefined))
  }

  async #freeDead(database: SqlDatabase): Promise<void> {
    const { db } = database
    const isShown = await this.#liveness.show(this.#id)
    const rows = await db.selectFrom('x402_owners').select('owner').execute()
    const owners = rows.map(({ owner }) => owner)
    if (isShown && this.#names > 0 && !owners.includes(this.#id))
      await db
        .insertInto('x402_owners')
        .values({ owner: this.#id })
        .onConflict((conflict) => conflict.column('owner').doNothing())
        .execute()
    const others = owners.filter((owner) => owner !== this.#id)
    const dead = others.length > 0 ? await this.#liveness.findDead(others) : []
    for (const owner of dead) {
      await free(database, owner)
      this.#liveness.forget?.(owner)
    }
    if (dead.length > 0) for (const listener of this.#onFreed) listener()
  }
}

/**
 * Lets everything lapse that an owner had. It may live after all, without being able to show it: until
 * another has taken them, its locks are still its own.
 */
async function free(database: SqlDatabase, owner: string): Promise<void> {
  const { db, sql, now } = database
  const [first, last] = [owner + '0'.repeat(DIGITS), owner + 'f'.repeat(DIGITS)]
  await db
    .updateTable('x402_authorizations')
    .set({ locked_until: 0 })
    .where(
      rowsInOrder(database, (where) =>
        where.and([
          where('lock_owner', '>=', first),
          where('lock_owner', '<=', last),
          where('delivered', '=', where.lit(0)),
          where('locked_until', '>', 0),
        ]),
      ),
    )
    .execute()
  // Last: once a claim has lapsed, a payment that is still locked was delivered.
  await sql`UPDATE x402_idempotency SET claimed_until = 0
    WHERE claim >= ${first} AND claim <= ${last} AND done = 0`.execute(db)
  await sql`UPDATE x402_webhook_deliveries SET claim = NULL, next_at = ${now}
    WHERE claim >= ${first} AND claim <= ${last}`.execute(db)
  await db.deleteFrom('x402_owners').where('owner', '=', owner).execute()
}
