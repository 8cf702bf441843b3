import { idBytes, idOf } from '../engine/bytes.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { newDeliveryId } from '../webhooks.js'
import { insertDelivery, wanting } from '../webhooks/rows.js'
import { MAX_OPEN_CHECKOUTS } from '../checkouts.js'
import type { Checkout, CheckoutQuery, CheckoutRefusal, NewCheckout } from '../checkouts.js'
import {
  checkoutOf,
  isUnderWay,
  LAPSED_MS,
  selectCheckouts,
  statusOf,
  type CheckoutRow,
} from './rows.js'

/** Checkouts that one look finds due. */
const DUE_AT_ONCE = 100

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

  /** Creates a checkout, unless there is one of that id. */
  create({ expiresInMs, ...checkout }: NewCheckout): Promise<Checkout> {
    const { id, project, url, amount, currency, reference, description } = checkout
    return this.#store.run(async (database) => {
      const { db, now, plus } = database
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
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute()
      const row = await selectCheckouts(database, db).where('c.id', '=', id).executeTakeFirst()
      return checkoutOf(row!)
    })
  }

  /** @param project - Finds a checkout of this project only. */
  find(id: string, project?: string): Promise<Checkout | undefined> {
    return this.#store.run(async (database) => {
      const row = await selectCheckouts(database, database.db)
        .where('c.id', '=', id)
        .executeTakeFirst()
      return row && (project ?? row.project) === row.project ? checkoutOf(row) : undefined
    })
  }

  /** Whether a project has as many open checkouts as it may have. */
  isFull(project: string): Promise<boolean> {
    return this.#store.run(async ({ db, sql }) => {
      const last = await db
        .selectFrom('x402_checkouts')
        .select('id')
        .where('project', '=', project)
        .where('state', '=', sql.lit('open'))
        .orderBy('created_at')
        .orderBy('id')
        .offset(MAX_OPEN_CHECKOUTS - 1)
        .limit(1)
        .executeTakeFirst()
      return last !== undefined
    })
  }

  list({ project, status, after, limit }: CheckoutQuery): Promise<readonly Checkout[]> {
    return this.#store.run(async (database) => {
      let select = selectCheckouts(database, database.db).where('c.project', '=', project)
      // The open ones have an index.
      if (status !== undefined) select = select.where('c.state', '=', database.sql.lit(status))
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
      return checkoutOf(await readAgain(database, row))
    })
  }

  /**
   * Names checkouts whose payment is settled, or whose time is over: those alone that {@link conclude} ends. Others would
   * keep their places, and take them from all projects.
   */
  listDue(): Promise<readonly string[]> {
    return this.#store.run(async ({ db, sql, now }) => {
      const { rows } = await sql<{ readonly id: string }>`
        SELECT id FROM (
          SELECT c.id FROM x402_checkouts AS c
          WHERE c.state = 'open' AND c.expires_at <= (SELECT ${now}) AND NOT EXISTS (
            SELECT 1 FROM x402_authorizations AS a WHERE a.id = c.payment
              AND a.resource IS NOT DISTINCT FROM c.purchase AND (a.state = 'submitted'
              OR a.state IN ('reserved', 'failed') AND a.lock_owner IS NOT NULL
                AND a.locked_until >= (SELECT ${now})
              OR a.state = 'reserved' AND a.lock_owner IS NULL
                AND CAST(a.valid_before AS NUMERIC) * 1000 >= (SELECT ${now}) - ${sql.lit(LAPSED_MS)}))
          UNION
          SELECT c.id FROM x402_checkouts AS c JOIN x402_authorizations AS a ON a.id = c.payment
          WHERE c.payment IS NOT NULL AND c.state <> 'paid' AND a.state = 'settled'
            AND a.resource IS NOT DISTINCT FROM c.purchase) AS due
        LIMIT ${sql.lit(DUE_AT_ONCE)}`.execute(db)
      return rows.map(({ id }) => id)
    })
  }

  /**
   * Writes down that a checkout is paid or has lapsed, and in the same change an event for each endpoint that wants
   * it. However many processes look, it is told once.
   *
   * @param describe - Makes the data of the event.
   * @returns Whether there was something to write.
   */
  conclude(id: string, describe: (checkout: Checkout) => object): Promise<boolean | undefined> {
    return this.#change(id, async (database, row) => {
      const status = statusOf(row)
      if (status === row.state || (status !== 'paid' && status !== 'expired')) return false
      await conclude(database, row, status)
      const { project } = row
      const type = `checkout.${status}` as const
      const data = describe(checkoutOf(await readAgain(database, row)))
      const endpoints = await database.db
        .selectFrom('x402_webhook_endpoints')
        .select('id')
        .where('project', '=', project)
        .where('events', 'like', wanting(type))
        .execute()
      for (const { id: endpoint } of endpoints)
        await insertDelivery(database, { id: newDeliveryId(), endpoint, project, type, data })
      return true
    })
  }

  /** Changes a checkout while its row is locked. @returns `undefined` if there is none. */
  #change<T>(
    id: string,
    change: (database: SqlDatabase, row: CheckoutRow) => Promise<T>,
  ): Promise<T | undefined> {
    return this.#store.run((database) =>
      database.db.transaction().execute(async (db) => {
        const row = await lockRow({ ...database, db }, id)
        return row && change({ ...database, db }, row)
      }),
    )
  }
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

async function readAgain(database: SqlDatabase, { id }: CheckoutRow): Promise<CheckoutRow> {
  return selectCheckouts(database, database.db).where('c.id', '=', id).executeTakeFirstOrThrow()
}

/** Ends a checkout. Of one that was not paid, only a payment that failed is still of interest: it may be paid late. */
async function conclude(
  { db }: SqlDatabase,
  { id, payment_state, payment_at }: CheckoutRow,
  state: 'paid' | 'expired' | 'canceled',
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
