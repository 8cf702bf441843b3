import { randomUUID } from 'node:crypto'
import type { Address } from '../../protocol/payment.js'
import { RELAYER_LEASE_MS, type RelayerLeases } from '../ledger.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'

/** What a process asks for. */
interface LeaseRequest {
  readonly chainId: number
  /** Addresses in lower case. */
  readonly wanted: readonly string[]
  readonly busy: ReadonlySet<string>
}

/**
 * Shares relayer accounts among the processes that use the same database.
 *
 * A lease is one row, taken in one statement by the database's clock, so that no two processes have the
 * same account. How many accounts each process takes is a matter of fairness only: each announces what
 * it could use, takes no more than its share, and gives up what it has beyond when that is idle.
 */
export class SqlRelayerLeases implements RelayerLeases {
  readonly #store: SqlStore
  /** Random name of this process. */
  readonly #holder = randomUUID()

  constructor(store: SqlStore) {
    this.#store = store
  }

  async leaseRelayers(
    chainId: number,
    relayers: readonly Address[],
    busy: readonly Address[] = [],
  ): Promise<readonly Address[]> {
    if (relayers.length === 0) return []
    const request: LeaseRequest = {
      chainId,
      wanted: relayers.map((address) => address.toLowerCase()),
      busy: new Set(busy.map((address) => address.toLowerCase())),
    }
    const leased = await this.#store.run(async (database) => {
      await this.#announce(database, request)
      const share = await fairShare(database, request)
      const kept = await this.#keep(database, request, share)
      return kept.length < share ? this.#take(database, request, { kept, share }) : kept
    })
    return relayers.filter((address) => leased.includes(address.toLowerCase()))
  }

  /** Gives up all leases, so that others need not wait until they lapse. */
  async giveUp({ db }: SqlDatabase): Promise<void> {
    const holder = this.#holder
    await db.deleteFrom('x402_relayer_leases').where('holder', '=', holder).execute()
    await db.deleteFrom('x402_relayer_candidates').where('holder', '=', holder).execute()
  }

  async #announce(
    { db, now, plus }: SqlDatabase,
    { chainId, wanted }: LeaseRequest,
  ): Promise<void> {
    const holder = this.#holder
    await db.deleteFrom('x402_relayer_candidates').where('candidate_until', '<', now).execute()
    const candidate_until = plus(RELAYER_LEASE_MS)
    await db
      .insertInto('x402_relayer_candidates')
      .values(wanted.map((relayer) => ({ chain_id: chainId, relayer, holder, candidate_until })))
      .onConflict((conflict) =>
        conflict.columns(['chain_id', 'relayer', 'holder']).doUpdateSet({ candidate_until }),
      )
      .execute()
  }

  /** Renews the leases of this process. Idle ones beyond its share are given up. */
  async #keep(
    { db, plus }: SqlDatabase,
    { chainId, wanted, busy }: LeaseRequest,
    share: number,
  ): Promise<readonly string[]> {
    const holder = this.#holder
    const renewed = await db
      .updateTable('x402_relayer_leases')
      .set({ held_until: plus(RELAYER_LEASE_MS) })
      .where((where) => where.and({ chain_id: chainId, holder }))
      .where('relayer', 'in', wanted)
      .returning('relayer')
      .execute()
    const leased = renewed.map(({ relayer }) => relayer)
    const idle = leased.filter((relayer) => !busy.has(relayer))
    const surplus = idle.slice(0, Math.max(0, leased.length - share))
    if (surplus.length > 0)
      await db
        .deleteFrom('x402_relayer_leases')
        .where((where) => where.and({ chain_id: chainId, holder }))
        .where('relayer', 'in', surplus)
        .execute()
    return leased.filter((relayer) => !surplus.includes(relayer))
  }

  /** Takes free accounts, up to the share of this process. */
  async #take(
    { db, now, plus }: SqlDatabase,
    { chainId, wanted }: LeaseRequest,
    { kept, share }: { readonly kept: readonly string[]; readonly share: number },
  ): Promise<readonly string[]> {
    const holder = this.#holder
    const leased = [...kept]
    for (const relayer of wanted) {
      if (leased.length >= share) break
      if (leased.includes(relayer)) continue
      const until = { holder, held_until: plus(RELAYER_LEASE_MS) }
      const taken = await db
        .insertInto('x402_relayer_leases')
        .values({ chain_id: chainId, relayer, ...until })
        .onConflict((conflict) =>
          conflict
            .columns(['chain_id', 'relayer'])
            .doUpdateSet(until)
            .where('x402_relayer_leases.held_until', '<', now),
        )
        .returning('relayer')
        .executeTakeFirst()
      if (taken !== undefined) leased.push(relayer)
    }
    return leased
  }
}

/** The share of this process: the sum of its parts in each account, rounded up. */
async function fairShare({ db }: SqlDatabase, { chainId, wanted }: LeaseRequest): Promise<number> {
  const rows = await db
    .selectFrom('x402_relayer_candidates')
    .select(['relayer', (select) => select.fn.countAll<number | string>().as('processes')])
    .where('chain_id', '=', chainId)
    .where('relayer', 'in', wanted)
    .groupBy('relayer')
    .execute()
  const share = rows.reduce((sum, { processes }) => sum + 1 / Number(processes), 0)
  // Three thirds may add up to a little more than one.
  return Math.ceil(share - 1e-9)
}
