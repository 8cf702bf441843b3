import { randomUUID } from 'node:crypto'
import type { Address } from '../../protocol/payment.js'
import { RELAYER_LEASE_MS } from '../ledger.js'
import type { LedgerStore } from '../ledger.js'
import type { SqlDatabase, SqlStore } from './sql-store.js'

/** The leases of one process. */
export interface RelayerLeases {
  readonly lease: LedgerStore['leaseRelayers']
  /** Gives them all up, so that others need not wait until they lapse. */
  giveUp(database: SqlDatabase): Promise<void>
}

/** One process's part in the accounts of a chain. */
interface LeaseRequest {
  readonly chainId: number
  /** In lower case. */
  readonly wanted: readonly string[]
  readonly busy: ReadonlySet<string>
}

/**
 * Shares accounts out among the processes that use the same database.
 *
 * Who has an account is one row, taken in one statement by the database's clock: no two processes
 * have the same. How many each takes is only a matter of fairness: each says what it wants, and takes
 * no more than its part; what it has beyond it gives up when it is idle.
 */
export function relayerLeases(store: SqlStore): RelayerLeases {
  const holder = randomUUID()

  const lease: LedgerStore['leaseRelayers'] = async (chainId, relayers, busy = []) => {
    if (relayers.length === 0) return []
    const request: LeaseRequest = {
      chainId,
      wanted: relayers.map((address) => address.toLowerCase()),
      busy: new Set(busy.map((address) => address.toLowerCase())),
    }
    const held = await store.run(async (database) => {
      await announce(database, request)
      const share = await fairShare(database, request)
      const kept = await keep(database, request, share)
      return kept.length < share ? take(database, request, { kept, share }) : kept
    })
    return relayers.filter((address: Address) => held.includes(address.toLowerCase()))
  }

  const announce = async ({ db, now, plus }: SqlDatabase, { chainId, wanted }: LeaseRequest) => {
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

  /** The sum of this process's parts in each account, rounded up. */
  const fairShare = async (
    { db }: SqlDatabase,
    { chainId, wanted }: LeaseRequest,
  ): Promise<number> => {
    const rows = await db
      .selectFrom('x402_relayer_candidates')
      .select(['relayer', (select) => select.fn.countAll<number | string>().as('processes')])
      .where('chain_id', '=', chainId)
      .where('relayer', 'in', wanted)
      .groupBy('relayer')
      .execute()
    const share = rows.reduce((sum, { processes }) => sum + 1 / Number(processes), 0)
    // Thirds do not add up to one exactly.
    return Math.ceil(share - 1e-9)
  }

  /** Renews what this process has, as far as it is its share or busy; the rest is given up. */
  const keep = async (
    { db, plus }: SqlDatabase,
    { chainId, wanted, busy }: LeaseRequest,
    share: number,
  ): Promise<readonly string[]> => {
    const renewed = await db
      .updateTable('x402_relayer_leases')
      .set({ held_until: plus(RELAYER_LEASE_MS) })
      .where((where) => where.and({ chain_id: chainId, holder }))
      .where('relayer', 'in', wanted)
      .returning('relayer')
      .execute()
    const held = renewed.map(({ relayer }) => relayer)
    const idle = held.filter((relayer) => !busy.has(relayer))
    const surplus = idle.slice(0, Math.max(0, held.length - share))
    if (surplus.length > 0)
      await db
        .deleteFrom('x402_relayer_leases')
        .where((where) => where.and({ chain_id: chainId, holder }))
        .where('relayer', 'in', surplus)
        .execute()
    return held.filter((relayer) => !surplus.includes(relayer))
  }

  /** Takes what is free, up to this process's share. */
  const take = async (
    { db, now, plus }: SqlDatabase,
    { chainId, wanted }: LeaseRequest,
    { kept, share }: { readonly kept: readonly string[]; readonly share: number },
  ): Promise<readonly string[]> => {
    const held = [...kept]
    for (const relayer of wanted) {
      if (held.length >= share) break
      if (held.includes(relayer)) continue
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
      if (taken !== undefined) held.push(relayer)
    }
    return held
  }

  return {
    lease,
    async giveUp({ db }) {
      await db.deleteFrom('x402_relayer_leases').where('holder', '=', holder).execute()
      await db.deleteFrom('x402_relayer_candidates').where('holder', '=', holder).execute()
    },
  }
}
