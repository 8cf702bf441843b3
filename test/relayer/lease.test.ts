import { randomInt } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import { LedgerError } from '../../src/errors.js'
import { RELAYER_LEASE_MS, type LedgerStore } from '../../src/ledger/ledger.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../src/ledger/sql/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sql/sqlite-ledger.js'
import type { Address } from '../../src/protocol/payment.js'
import { minedCount } from '../support/core.js'
import { useDevnet } from '../support/devnet.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { callOf, newKeys, ONE_ETHER, openPool } from './pools.js'
import { patchedLedger } from '../support/patched-ledger.js'

const KEYS: readonly Address[] = ['0xAa', '0xBb', '0xCc'].map(
  (start): Address => `0x${start.slice(2).repeat(20)}`,
)

const devnet = useDevnet()
const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

const postgres = await findPostgres()

function sqliteStores(): () => LedgerStore {
  const file = join(mkdtempSync(join(tmpdir(), 'leases-')), 'ledger.db')
  return () => openSqliteLedger(file)
}

const stores: [string, () => () => LedgerStore][] = [['SQLite', sqliteStores]]
if (postgres !== undefined) {
  const schema = await createSchema(postgres)
  afterAll(() => schema.drop())
  stores.push(['PostgreSQL', () => () => openPostgresLedger(schema.url)])
}

describe('a memory ledger', () => {
  it('leases every relayer: no other process shares it', async () => {
    expect(await createMemoryLedger().leaseRelayers(1, KEYS)).toEqual(KEYS)
  })
})

describe.each(stores)('relayers shared over %s', (_name, share) => {
  /** Gateways on the same database, on a chain of their own. */
  function openLedgers(count: number) {
    const create = share()
    const chainId = randomInt(2 ** 31, 2 ** 40)
    return Array.from({ length: count }, () => {
      const ledger = create()
      opened.push(ledger)
      return {
        close: () => ledger.close(),
        lease: (keys = KEYS, busy: readonly Address[] = []) =>
          ledger.leaseRelayers(chainId, keys, busy),
      }
    })
  }

  it('record replacements for a payment that is no longer locked', async () => {
    const ledger = share()()
    opened.push(ledger)
    const hex = (byte: string): Address => `0x${byte.repeat(20)}`
    const nonce: Address = `0x${randomInt(2 ** 40)
      .toString(16)
      .padStart(64, '0')}`
    const key = { chainId: 1, asset: hex('11'), from: hex('22'), nonce }
    await ledger.reserve({ ...key, payTo: hex('33'), value: 1n, validBefore: 2n ** 40n })
    const first = {
      transaction: hex('44'),
      relayer: hex('55'),
      accountNonce: 6,
      raw: hex('77'),
    }
    await ledger.submit(key, first)
    await ledger.unlock(key)
    const second = { ...first, transaction: hex('88'), raw: hex('99'), replaces: [hex('44')] }
    await ledger.submit(key, second)
    const third = { ...first, transaction: hex('aa'), replaces: [hex('88'), hex('44')] }
    await ledger.submit(key, third)
    expect(await ledger.find(key)).toMatchObject({ state: 'submitted', submission: third })
  })

  it('are all leased to a process that is alone, spelled as it asked', async () => {
    const [alone] = openLedgers(1)
    expect(await alone!.lease()).toEqual(KEYS)
    expect(await alone!.lease()).toEqual(KEYS)
    expect(await alone!.lease([])).toEqual([])
  })

  it('are shared with a process that comes later', async () => {
    const [first, second] = openLedgers(2)
    expect(await first!.lease()).toHaveLength(3)
    expect(await second!.lease()).toEqual([])
    const left = await first!.lease()
    const taken = await second!.lease()
    expect([left.length, taken.length]).toEqual([2, 1])
    expect([...left, ...taken].sort()).toEqual([...KEYS].sort())
    expect(await first!.lease()).toEqual(left)
    expect(await second!.lease()).toEqual(taken)
  })

  it('stay leased while they are busy', async () => {
    const [first, second] = openLedgers(2)
    await first!.lease()
    await second!.lease()
    expect(await first!.lease(KEYS, KEYS)).toEqual(KEYS)
    expect(await second!.lease()).toEqual([])
    expect(await first!.lease(KEYS, [KEYS[0]!, KEYS[2]!])).toEqual([KEYS[0], KEYS[2]])
    expect(await second!.lease()).toEqual([KEYS[1]])
  })

  it('are all leased when processes have different keys', async () => {
    const [first, second] = openLedgers(2)
    const [a, b, c] = KEYS
    await first!.lease([a!])
    expect(await second!.lease([b!, c!])).toEqual([b, c])
    expect(await first!.lease([a!])).toEqual([a])
  })

  it('are never leased to two processes at once, however many ask', async () => {
    const ledgers = openLedgers(5)
    await Promise.all(ledgers.map(({ lease }) => lease([])))
    for (let round = 0; round < 5; round++) {
      const leased = await Promise.all(ledgers.map(({ lease }) => lease()))
      // Each answer holds until the next one: what was given up in this round may be in both.
      const again = await Promise.all(ledgers.map(({ lease }, n) => lease(KEYS, leased[n])))
      const all = again.flat()
      expect(new Set(all).size).toBe(all.length)
    }
  })

  it('are free at once when their process ends', async () => {
    const [first, second] = openLedgers(2)
    await first!.lease()
    await first!.close()
    expect(await second!.lease()).toEqual(KEYS)
  })

  it('are free when the lease of a killed process is over', async () => {
    const [dead, heir] = openLedgers(2)
    expect(await dead!.lease()).toHaveLength(3)
    expect(await heir!.lease()).toEqual([])
    await new Promise((resolve) => setTimeout(resolve, RELAYER_LEASE_MS * 0.6))
    expect(await heir!.lease()).toEqual([])
    await new Promise((resolve) => setTimeout(resolve, RELAYER_LEASE_MS * 0.5))
    expect(await heir!.lease()).toEqual(KEYS)
  })

  it('send from each account in one process at a time, while leases move', async () => {
    const create = share()
    const privateKeys = await newKeys(devnet, ONE_ETHER, ONE_ETHER, ONE_ETHER)
    const pools = Array.from({ length: 2 }, () => {
      const ledger = create()
      const pool = openPool(devnet, { privateKeys, ledger })
      opened.push(pool, ledger)
      return pool
    })
    const calls = Array.from({ length: 120 }, () => callOf(devnet))
    const sent = calls.map(async ({ member }, n) => {
      await new Promise((resolve) => setTimeout(resolve, n * 70))
      const { pool, chain } = pools[n % 2]!
      const { submission, kind } = await pool.send(member)
      const receipt = await chain.getReceipt(submission.transaction)
      if (receipt !== undefined) pool.noteMined(receipt)
      return kind
    })
    expect(new Set(await Promise.all(sent))).toEqual(new Set(['accepted']))
    // Two that sent at once would have used a nonce twice, and one would have signed again.
    expect(calls.map(({ written }) => written.length)).toEqual(calls.map(() => 1))
    const counts = await Promise.all(
      pools[0]!.pool.addresses.map((address) => minedCount(devnet, address)),
    )
    expect(counts.reduce((sum, count) => sum + count)).toBe(120)
  })
})

describe('a gateway without a lease', () => {
  it('sends nothing, and takes over once the other one has ended', async () => {
    const create = sqliteStores()
    const [privateKey] = await newKeys(devnet, ONE_ETHER)
    const [holder, waiting] = [create(), create()]
    opened.push(waiting)
    const first = openPool(devnet, { privateKeys: [privateKey], ledger: holder })
    await first.pool.send(callOf(devnet).member)
    const second = openPool(devnet, { privateKeys: [privateKey], ledger: waiting })
    opened.push(second)
    const { member, written } = callOf(devnet)
    await expect(second.pool.send(member)).rejects.toMatchObject({
      code: 'relayer_without_lease',
    })
    expect(written).toEqual([])
    first.close()
    await holder.close()
    expect(await second.pool.send(member)).toMatchObject({ kind: 'accepted' })
  })

  it('that cannot renew its lease stops sending before the lease ends', async () => {
    let away = false
    const store = createMemoryLedger()
    const ledger = patchedLedger(store, {
      leaseRelayers: async (...asked) => {
        if (away) throw new LedgerError('ledger_unavailable', 'The database is away.')
        return store.leaseRelayers(...asked)
      },
    })
    const { pool, close } = openPool(devnet, {
      privateKeys: await newKeys(devnet, ONE_ETHER),
      ledger,
    })
    opened.push({ close })
    await pool.send(callOf(devnet).member)
    away = true
    await new Promise((resolve) => setTimeout(resolve, RELAYER_LEASE_MS * 0.7))
    const { member, written } = callOf(devnet)
    await expect(pool.send(member)).rejects.toMatchObject({ code: 'ledger_unavailable' })
    expect(written).toEqual([])
    away = false
    expect(await pool.send(member)).toMatchObject({ kind: 'accepted' })
  })

  it('that loses its lease during a ledger write does not send, and withdraws the record', async () => {
    let isOthers = false
    const ledger = patchedLedger(createMemoryLedger(), {
      leaseRelayers: async (_chainId, relayers) => (isOthers ? [] : relayers),
    })
    const { pool, close } = openPool(devnet, {
      privateKeys: await newKeys(devnet, ONE_ETHER),
      ledger,
    })
    opened.push({ close })
    const { member, written, takenBack } = callOf(devnet, {
      writeAhead: async () => {
        isOthers = true
        await new Promise((resolve) => setTimeout(resolve, RELAYER_LEASE_MS * 0.4))
      },
    })
    await expect(pool.send(member)).rejects.toMatchObject({
      code: 'relayer_without_lease',
    })
    expect(written).toHaveLength(1)
    expect(takenBack).toEqual(written)
    expect(await minedCount(devnet, pool.addresses[0])).toBe(0)
  })
})
