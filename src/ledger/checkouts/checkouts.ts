import type { RawBuilder } from 'kysely'
import { idBytes, idOf } from '../engine/bytes.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import type { ChangeAuthor } from '../projects.js'
import { makeChange, Undone } from '../projects/changes.js'
import { limited, takeTurn } from '../projects/limited.js'
import { newDeliveryId } from '../webhooks.js'
import { endpointsWanting, insertDelivery } from '../webhooks/rows.js'
import { CHECKOUT_KEPT_MS, MAX_OPEN_CHECKOUTS, MAX_UNPAID_CHECKOUTS } from '../checkouts.js'
import type { Checkout, CheckoutQuery, CheckoutRefusal } from '../checkouts.js'
import type { CheckoutStatus, NewCheckout } from '../checkouts.js'
import {
  checkoutOf,
  isUnderWay,
  LAPSED_MS,
  selectCheckouts,
  statusOf,
  type CheckoutRow,
} from './rows.js'
import { world } from '../../shared/world.js'

/** How a checkout ends that nobody has paid. */
const UNPAID = ['expired', 'canceled'] as const

const DUE_AT_ONCE = 100

/** Checkouts that one statement forgets. Others wait for it. */
const PAGE = 500

/**
 * Keeps payment links, and which payment pays each.
 *
 * A payment is reserved first. It then takes the checkout, while the checkout's row is locked, and is settled only
 * if it could: of all payments that are presented at once, to however many processes, one is settled. A checkout
 * is never given back. Its payment keeps it for as long as its record may still be settled, so that neither a
 * failure nor a crash leaves a link that nobody can pay.
 */
export class Checkouts {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  /**
   * Creates a checkout, unless there is one of that id.
   *
   * @param author - The admin who does it; absent for a project itself.
   * @returns `undefined` if the project has {@link MAX_OPEN_CHECKOUTS}.
   */
  create(checkout: NewCheckout, author?: ChangeAuthor): Promise<Checkout | undefined> {
    const { id, project, amount, currency } = checkout
    return this.#store.run(async (database) => {
      const make = (db: SqlDatabase['db']) => insert({ ...database, db }, checkout)
      if (author === undefined) await database.db.transaction().execute(make)
      else
        await makeChange(database, author, async ({ db }) => {
          if (!(await make(db))) throw new Undone('full')
          return { action: 'checkout.created', project, after: { checkout: id, amount, currency } }
        })
      return findOne(database, id)
    })
  }

  /** @param project - Finds a checkout of this project only. */
  find(id: string, project?: string): Promise<Checkout | undefined> {
    return this.#store.run(async (database) => {
      const found = await findOne(database, id)
      return found && (project ?? found.project) === found.project ? found : undefined
    })
  }

  list({ project, status, after, limit }: CheckoutQuery): Promise<readonly Checkout[]> {
    return this.#store.run(async (database) => {
      let select = selectCheckouts(database, database.db).where('c.project', '=', project)
      if (status !== undefined) select = select.where('c.state', '=', status)
      if (after !== undefined)
        select = select.where((where) =>
          where(
            where.refTuple('c.created_at', 'c.id'),
            '<',
            where.tuple(after.createdAt, after.id),
          ),
        )
      const newest = select.orderBy('c.created_at', 'desc').orderBy('c.id', 'desc')
      return (await newest.limit(limit).execute()).map(checkoutOf)
    })
  }

  /**
   * Lets a reserved payment pay a checkout. A payment that was sent, or has paid it, may always.
   *
   * @param payment - Id of its record, locked by the caller.
   * @returns Why it may not; `undefined` if it may. The caller then releases the payment.
   */
  async take(id: string, payment: string): Promise<CheckoutRefusal | undefined> {
    const outcome = await this.#change<CheckoutRefusal | 'taken'>(id, async ({ db }, row) => {
      const isOwn = row.payment !== null && idOf(row.payment) === payment
      const isSent = ['submitted', 'settled'].includes(row.payment_state ?? '')
      if (isOwn && (isSent || row.state === 'paid')) return 'taken'
      // Nothing was sent for it yet, so it has no precedence.
      const others = isOwn ? { ...row, payment_state: null } : row
      if (isUnderWay(others)) return 'in_progress'
      const status = statusOf(others)
      if (status !== 'open') return status
      await db
        .updateTable('x402_checkouts')
        .set((where) => ({
          payment: idBytes(payment),
          purchase: where
            .selectFrom('x402_authorizations')
            .select('resource')
            .where('id', '=', idBytes(payment)),
        }))
        .where('id', '=', id)
        .execute()
      return 'taken'
    })
    // One that was pruned meanwhile was over.
    if (outcome === undefined) return 'expired'
    return outcome === 'taken' ? undefined : outcome
  }

  /**
   * Withdraws a checkout. One that is withdrawn already, or has lapsed, stays as it is.
   *
   * @returns Why it cannot be withdrawn; or the checkout, if the project has it.
   */
  cancel(
    project: string,
    id: string,
  ): Promise<Checkout | Extract<CheckoutRefusal, 'paid' | 'in_progress'> | undefined> {
    return this.#change(id, async (database, row) => {
      if (row.project !== project) return undefined
      if (statusOf(row) === 'paid') return 'paid'
      if (isUnderWay(row)) return 'in_progress'
      if (statusOf(row) === 'open') await conclude(database, row, 'canceled')
      return await findOne(database, id)
    })
  }

  /**
   * Names checkouts whose payment is settled or was released, or whose time is over: those alone that {@link conclude}
   * changes. Others would keep their places, and take them from all projects.
   *
   * The few links that have a payment and are not paid come first, and each looks its payment up: SQLite would join
   * all links that are over (0.6 s of 100,000), or all payments.
   */
  listDue(): Promise<readonly string[]> {
    return this.#store.run(async ({ db, sql, now }) => {
      const isItsPayment = sql`a.id = c.payment AND a.resource IS NOT DISTINCT FROM c.purchase`
      const { rows } = await sql<{ readonly id: string }>`
        SELECT c.id FROM x402_checkouts AS c
        WHERE c.payment IS NOT NULL AND c.state <> 'paid' AND coalesce(
          (SELECT a.state FROM x402_authorizations AS a WHERE ${isItsPayment}), 'settled') = 'settled'
        UNION ALL
        SELECT c.id FROM x402_checkouts AS c
        WHERE c.state = 'open' AND c.expires_at <= (SELECT ${now}) AND NOT EXISTS (
          SELECT 1 FROM x402_authorizations AS a WHERE ${isItsPayment} AND (
            a.state IN ('submitted', 'settled')
            OR a.state IN ('reserved', 'failed') AND a.lock_owner IS NOT NULL
              AND a.locked_until >= (SELECT ${now})
            OR a.state = 'reserved' AND a.lock_owner IS NULL
              AND CAST(a.valid_before AS NUMERIC) * 1000 >= (SELECT ${now}) - ${sql.lit(LAPSED_MS)}))
        LIMIT ${sql.lit(DUE_AT_ONCE)}`.execute(db)
      return [...new Set(rows.map(({ id }) => id))]
    })
  }

  /** Forgets checkouts that nobody has paid, long after their time was over. */
  async prune(): Promise<void> {
    for (const state of UNPAID)
      await pruneCheckouts(this.#store, state, ({ plus }) => plus(-CHECKOUT_KEPT_MS))
  }

  /**
   * Writes down that a checkout is paid or has lapsed, and in the same change an event for each endpoint that wants
   * it. However many processes look, it is told once. A payment that was released is forgotten.
   *
   * @param describe - Makes the data of the event.
   * @returns Whether there was an event to write.
   */
  conclude(id: string, describe: (checkout: Checkout) => object): Promise<boolean | undefined> {
    return this.#change(id, async (database, row) => {
      const status = statusOf(row)
      if (status === row.state || status === 'open' || status === 'canceled') {
        // A payment that was released is not looked up again.
        if (status !== 'paid') await conclude(database, row, status)
        return false
      }
      await conclude(database, row, status)
      const { project } = row
      const type = `checkout.${status}` as const
      const data = describe((await findOne(database, id))!)
      for (const endpoint of await endpointsWanting(database, project, type))
        await insertDelivery(database, { id: newDeliveryId(), endpoint, project, type, data })
      return true
    })
  }

  /** Changes a checkout while its row is locked. @returns `undefined` if there is none. */
  #change<T>(
    id: string,
    change: (database: SqlDatabase, row: CheckoutRow) => Promise<T>,
  ): Promise<T | undefined> {
    return this.#store.transact(async (database) => {
      const row = await lockRow(database, id)
      return row && change(database, row)
    })
  }
}

/**
 * Deletes checkouts that could be paid until a time. One that has a payment stays for as long as that: it may have been
 * bought, or be paid late.
 */
export async function pruneCheckouts(
  store: Pick<SqlStore, 'run'>,
  state: CheckoutStatus,
  before: (database: SqlDatabase) => RawBuilder<number>,
): Promise<void> {
  const prunePage = () =>
    store.run((database) =>
      database.sql`DELETE FROM x402_checkouts WHERE id IN (
        SELECT c.id FROM x402_checkouts AS c WHERE c.state = ${state} AND c.expires_at < (SELECT ${before(database)})
          AND NOT EXISTS (SELECT 1 FROM x402_authorizations AS a WHERE a.id = c.payment)
        ORDER BY c.expires_at LIMIT ${database.sql.lit(PAGE)})`.execute(database.db),
    )
  while (Number((await prunePage()).numAffectedRows) === PAGE) await world.nextTurn()
}

/**
 * Locks a checkout, and reads it. Its payment is read by another statement once the lock is there: the first one
 * would see the payment as it was before it waited.
 *
 * A lock that has lapsed is taken from its payment: a process that only slept finds that it can send nothing any
 * more. It may have been allowed to.
 */
async function lockRow(database: SqlDatabase, id: string): Promise<CheckoutRow | undefined> {
  const { db, now, locksRows } = database
  const select = db.selectFrom('x402_checkouts').select('payment').where('id', '=', id)
  const locked = await (locksRows ? select.forNoKeyUpdate() : select).executeTakeFirst()
  if (locked === undefined) return undefined
  const { payment } = locked
  if (payment !== null) {
    await db
      .deleteFrom('x402_authorizations')
      .where((where) => where.and({ id: payment, state: 'reserved', kind: 'payment' }))
      .where('lock_owner', 'is not', null)
      .where('locked_until', '<', now)
      .execute()
    await db
      .updateTable('x402_authorizations')
      .set({ lock_owner: null, locked_until: 0 })
      .where((where) => where.and({ id: payment, state: 'failed', delivered: 0 }))
      .where('lock_owner', 'is not', null)
      .where('locked_until', '<', now)
      .execute()
  }
  return selectCheckouts(database, db).where('c.id', '=', id).executeTakeFirst()
}

/** Adds a checkout, unless it is there. @returns `false` if its project has too many open ones. */
async function insert(
  database: SqlDatabase,
  { expiresInMs, ...checkout }: NewCheckout,
): Promise<boolean> {
  const { db, sql, now, plus } = database
  const { id, project, url, amount, currency, reference, description } = checkout
  await takeTurn(database, project)
  if ((await findOne(database, id)) !== undefined) return true
  const links = (state: CheckoutStatus, most: number) => {
    const limit = { project, most, by: 'created_at', of: sql`state = ${state}` }
    return limited(database, 'x402_checkouts', limit)
  }
  if (await links('open', MAX_OPEN_CHECKOUTS).isFull()) return false
  await db
    .insertInto('x402_checkouts')
    .values({
      id,
      project,
      url,
      amount,
      currency,
      reference: reference ?? null,
      description: description ?? null,
      success_url: checkout.successUrl ?? null,
      cancel_url: checkout.cancelUrl ?? null,
      state: 'open',
      expires_at: plus(expiresInMs),
      created_at: now,
    })
    .execute()
  // Counting them takes as long as there are many: so one id in 256 does it.
  if (id.endsWith('00'))
    for (const state of UNPAID) await links(state, MAX_UNPAID_CHECKOUTS).keepNewest()
  return true
}

async function findOne(database: SqlDatabase, id: string): Promise<Checkout | undefined> {
  const row = await selectCheckouts(database, database.db).where('c.id', '=', id).executeTakeFirst()
  return row && checkoutOf(row)
}

/** Ends a checkout. Of one that was not paid, only a payment that failed is still of interest: it may be paid late. */
async function conclude(
  { db }: SqlDatabase,
  { id, payment_state, payment_at }: CheckoutRow,
  state: CheckoutStatus,
): Promise<void> {
  await db
    .updateTable('x402_checkouts')
    .set({
      state,
      ...(state === 'paid' && { paid_at: Number(payment_at) }),
      ...(payment_state === null && { payment: null, purchase: null }),
    })
    .where('id', '=', id)
    .execute()
}
