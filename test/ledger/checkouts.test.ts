import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import type { NewCheckout } from '../../src/ledger/checkouts.js'
import { recordId, type LedgerEntry, type LedgerStore } from '../../src/ledger/index.js'
import { useCleanup } from '../support/cleanup.js'
import { FAILURE, newEntry, SUBMISSION, UNAVAILABLE } from '../support/ledger-entries.js'
import { until } from '../support/until.js'
import { stores, type TestStore } from '../operate/webhooks/stores.js'

const DAY_MS = 24 * 3_600_000

/** Longer than a lock lasts. */
const LOCK_MS = 31_000

function newCheckout(overrides: Partial<NewCheckout> = {}): NewCheckout {
  const id = `co_${randomBytes(16).toString('hex')}`
  return {
    id,
    project: 'shop',
    url: `https://shop.example/pay/${id}`,
    amount: '15.00',
    currency: 'USD',
    expiresInMs: DAY_MS,
    ...overrides,
  }
}

async function create({ checkouts }: LedgerStore, overrides: Partial<NewCheckout> = {}) {
  return (await checkouts.create(newCheckout(overrides)))!.id
}

/** Reserves a payment, which then asks for a checkout. @returns Why it may not pay it. */
async function take(ledger: LedgerStore, checkout: string, entry: LedgerEntry) {
  await ledger.payments.reserve(entry)
  return ledger.checkouts.take(checkout, recordId(entry))
}

const statusOf = async ({ checkouts }: LedgerStore, id: string) =>
  (await checkouts.find(id))?.status

const described = (checkout: object) => checkout

async function listenTo({ webhooks }: LedgerStore, project = 'shop') {
  const events = ['checkout.paid', 'checkout.expired'] as const
  const id = `we_${randomBytes(16).toString('hex')}`
  const url = 'https://shop.example/'
  await webhooks.endpoints.create({ id, project, url, events, secret: 'whsec_one' })
  return async () => {
    const told = await webhooks.deliveries.claim(id, 10)
    return told.map(({ type, data }) => ({ type, ...(data as { id: string; status: string }) }))
  }
}

describe.each(stores)('checkouts of the %s ledger', (_name, openStore) => {
  const toEnd = useCleanup()
  const open = (): Promise<TestStore> => openStore(toEnd)

  it('keeps every member of a checkout', async () => {
    const { ledger } = await open()
    const members = {
      reference: 'order-7',
      description: 'Two books',
      successUrl: 'https://shop.example/thanks',
      cancelUrl: 'https://shop.example/cart',
    }
    const given = newCheckout(members)
    const { expiresInMs, ...kept } = given
    const created = (await ledger.checkouts.create(given))!
    expect(created).toMatchObject({ ...kept, status: 'open' })
    // The database reads its clock for each of the two.
    const life = created.expiresAt - created.createdAt
    expect(Math.abs(life - expiresInMs)).toBeLessThan(60_000)
    expect(await ledger.checkouts.find(given.id)).toEqual(created)
    expect(await ledger.checkouts.find(given.id, 'shop')).toEqual(created)
    expect(await ledger.checkouts.find(given.id, 'other')).toBeUndefined()
    expect(await ledger.checkouts.find(newCheckout().id)).toBeUndefined()
  })

  it('creates a checkout once, however often it is asked to', async () => {
    const { ledger } = await open()
    const given = newCheckout()
    const first = await ledger.checkouts.create(given)
    expect(await ledger.checkouts.create({ ...given, amount: '1.00' })).toEqual(first)
  })

  it('lists those of one project, newest first, in pages', async () => {
    const { ledger, pass } = await open()
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push(await create(ledger))
    await create(ledger, { project: 'other' })
    const all = await ledger.checkouts.list({ project: 'shop', limit: 10 })
    expect(all.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    const first = await ledger.checkouts.list({ project: 'shop', limit: 2 })
    const rest = await ledger.checkouts.list({ project: 'shop', after: first[1]!, limit: 2 })
    expect([...first, ...rest]).toEqual(all)
    await ledger.checkouts.cancel('shop', all[0]!.id)
    await pass(1)
    const canceled = await ledger.checkouts.list({ project: 'shop', status: 'canceled', limit: 9 })
    expect(canceled.map(({ id }) => id)).toEqual([all[0]!.id])
  })

  it('lets one of many payments at once take a checkout, in several processes', async () => {
    const { ledger, another } = await open()
    const other = another()
    for (let round = 0; round < 5; round++) {
      const id = await create(ledger)
      const taking = Array.from({ length: 8 }, (_, n) =>
        take(n % 2 ? ledger : other, id, newEntry()),
      )
      const results = await Promise.all(taking)
      expect(results.filter((refusal) => refusal === undefined)).toHaveLength(1)
      expect(results.filter((refusal) => refusal === 'in_progress')).toHaveLength(7)
    }
  })

  it('is not taken by a payment once it was pruned', async () => {
    const { ledger } = await open()
    expect(await take(ledger, newCheckout().id, newEntry())).toBe('expired')
  })

  it('is open again once its payment was released', async () => {
    const { ledger } = await open()
    const id = await create(ledger)
    const [first, second] = [newEntry(), newEntry()]
    expect(await take(ledger, id, first)).toBeUndefined()
    expect(await ledger.checkouts.find(id)).toMatchObject({
      status: 'open',
      settlement: recordId(first),
    })
    await ledger.payments.release(first)
    expect((await ledger.checkouts.find(id))?.settlement).toBeUndefined()
    expect(await take(ledger, id, second)).toBeUndefined()
    expect(await take(ledger, id, first)).toBe('in_progress')
  })

  it('is not paid by a payment that was released, and paid for something else', async () => {
    const { ledger } = await open()
    const [id, other] = [await create(ledger), await create(ledger)]
    const entry = newEntry({ purchase: { resource: id } })
    expect(await take(ledger, id, entry)).toBeUndefined()
    await ledger.payments.release(entry)
    const elsewhere = { ...entry, purchase: { resource: other } }
    expect(await take(ledger, other, elsewhere)).toBeUndefined()
    expect(await ledger.checkouts.find(id)).toMatchObject({ status: 'open', settlement: undefined })
    await ledger.payments.submit(elsewhere, SUBMISSION)
    await ledger.payments.markSettled(elsewhere, SUBMISSION.transaction)
    expect(await statusOf(ledger, other)).toBe('paid')
    expect(await statusOf(ledger, id)).toBe('open')
    expect((await ledger.checkouts.listDue()).toSorted()).toEqual([id, other].toSorted())
    expect(await ledger.checkouts.conclude(id, described)).toBe(false)
    // Its payment is not looked up again.
    expect(await ledger.checkouts.listDue()).toEqual([other])
    expect(await take(ledger, id, newEntry())).toBeUndefined()
  })

  it('is open again once its payment has failed, and not while that is sent again', async () => {
    const { ledger } = await open()
    const id = await create(ledger)
    const [first, second] = [newEntry(), newEntry()]
    await take(ledger, id, first)
    await ledger.payments.submit(first, SUBMISSION)
    expect(await take(ledger, id, second)).toBe('in_progress')
    await ledger.payments.markFailed(first, FAILURE)
    expect(await ledger.payments.relock(first)).toBe(true)
    expect(await ledger.checkouts.take(id, recordId(first))).toBeUndefined()
    expect(await ledger.checkouts.take(id, recordId(second))).toBe('in_progress')
    await ledger.payments.unlock(first)
    expect(await ledger.checkouts.take(id, recordId(second))).toBeUndefined()
    expect(await ledger.payments.relock(first)).toBe(true)
    expect(await ledger.checkouts.take(id, recordId(first))).toBe('in_progress')
  })

  it('is paid once its payment is settled, and tells its endpoints once', async () => {
    const { ledger, another } = await open()
    const told = await listenTo(ledger)
    const toldOthers = await listenTo(ledger, 'other')
    const id = await create(ledger)
    const entry = newEntry()
    await take(ledger, id, entry)
    await ledger.payments.submit(entry, SUBMISSION)
    expect(await statusOf(ledger, id)).toBe('open')
    expect(await ledger.checkouts.listDue()).toEqual([])
    await ledger.payments.markSettled(entry, SUBMISSION.transaction)
    expect(await statusOf(ledger, id)).toBe('paid')
    expect(await ledger.checkouts.listDue()).toEqual([id])
    const processes = [ledger, another(), another()]
    const concluded = await Promise.all(
      processes.map(({ checkouts }) => checkouts.conclude(id, described)),
    )
    expect(concluded.filter(Boolean)).toHaveLength(1)
    expect(await ledger.checkouts.listDue()).toEqual([])
    const settlement = recordId(entry)
    expect(await told()).toEqual([
      expect.objectContaining({ type: 'checkout.paid', id, status: 'paid', settlement }),
    ])
    expect(await toldOthers()).toEqual([])
  })

  it('refuses every other payment once it is paid, and never its own', async () => {
    const { ledger } = await open()
    const id = await create(ledger)
    const [first, second] = [newEntry(), newEntry()]
    await take(ledger, id, first)
    await ledger.payments.submit(first, SUBMISSION)
    await ledger.payments.markSettled(first, SUBMISSION.transaction)
    expect(await take(ledger, id, second)).toBe('paid')
    expect(await ledger.checkouts.take(id, recordId(first))).toBeUndefined()
    await ledger.checkouts.conclude(id, described)
    expect(await ledger.checkouts.take(id, recordId(second))).toBe('paid')
    expect(await ledger.checkouts.take(id, recordId(first))).toBeUndefined()
    expect(await ledger.checkouts.cancel('shop', id)).toBe('paid')
  })

  it('lapses, and tells its endpoints once', async () => {
    const { ledger, pass } = await open()
    const told = await listenTo(ledger)
    const id = await create(ledger, { expiresInMs: 60_000 })
    expect(await ledger.checkouts.conclude(id, described)).toBe(false)
    await pass(60_001)
    expect(await statusOf(ledger, id)).toBe('expired')
    expect(await take(ledger, id, newEntry())).toBe('expired')
    expect(await ledger.checkouts.listDue()).toEqual([id])
    expect(await ledger.checkouts.conclude(id, described)).toBe(true)
    expect(await ledger.checkouts.conclude(id, described)).toBe(false)
    expect(await told()).toEqual([
      expect.objectContaining({ type: 'checkout.expired', id, status: 'expired' }),
    ])
    expect(await ledger.checkouts.cancel('shop', id)).toMatchObject({ status: 'expired' })
  })

  it('does not lapse while a payment is under way, which pays it late', async () => {
    const { ledger, pass } = await open()
    const id = await create(ledger, { expiresInMs: 60_000 })
    const entry = newEntry()
    await take(ledger, id, entry)
    await ledger.payments.submit(entry, SUBMISSION)
    await pass(60_001)
    expect(await statusOf(ledger, id)).toBe('open')
    expect(await ledger.checkouts.listDue()).toEqual([])
    expect(await ledger.checkouts.conclude(id, described)).toBe(false)
    expect(await take(ledger, id, newEntry())).toBe('in_progress')
    expect(await ledger.checkouts.take(id, recordId(entry))).toBeUndefined()
    await ledger.payments.markSettled(entry, SUBMISSION.transaction)
    expect(await ledger.checkouts.conclude(id, described)).toBe(true)
    expect(await statusOf(ledger, id)).toBe('paid')
  })

  it('are named as due only if they can be ended', async () => {
    const { ledger, pass } = await open()
    const [used, again] = [newEntry({ validBefore: 33_000_000_000n }), newEntry()]
    const ids = [
      await create(ledger, { expiresInMs: 60_000 }),
      await create(ledger, { expiresInMs: 60_000 }),
      await create(ledger, { expiresInMs: 60_000 }),
    ] as const
    // Its authorization was found used, and the node did not say by which transaction.
    await take(ledger, ids[0], used)
    await ledger.payments.unlock(used)
    await take(ledger, ids[1], again)
    await ledger.payments.submit(again, SUBMISSION)
    await ledger.payments.markFailed(again, FAILURE)
    await pass(60_001)
    await ledger.payments.relock(again)
    expect(await ledger.checkouts.listDue()).toEqual([ids[2]])
    for (const id of ids.slice(0, 2))
      expect(await ledger.checkouts.conclude(id, described)).toBe(false)
  })

  it('lets a payment that was released not take it again once it has lapsed', async () => {
    const { ledger, pass } = await open()
    const id = await create(ledger, { expiresInMs: 60_000 })
    const entry = newEntry()
    await take(ledger, id, entry)
    await ledger.payments.release(entry)
    await pass(60_001)
    expect(await take(ledger, id, entry)).toBe('expired')
    await ledger.payments.release(entry)
    await ledger.checkouts.conclude(id, described)
    expect(await take(ledger, id, entry)).toBe('expired')
  })

  it('is paid by a payment that had failed, if that is paid after all', async () => {
    const { ledger, pass } = await open()
    const told = await listenTo(ledger)
    const id = await create(ledger, { expiresInMs: 60_000 })
    const entry = newEntry()
    await take(ledger, id, entry)
    await ledger.payments.submit(entry, SUBMISSION)
    await ledger.payments.markFailed(entry, FAILURE)
    await pass(60_001)
    await ledger.checkouts.conclude(id, described)
    expect(await statusOf(ledger, id)).toBe('expired')
    await ledger.payments.markSettledLate(entry, `0x${'1a'.repeat(32)}`)
    expect(await ledger.checkouts.listDue()).toEqual([id])
    expect(await ledger.checkouts.conclude(id, described)).toBe(true)
    const types = (await told()).map(({ type }) => type)
    expect(types.toSorted()).toEqual(['checkout.expired', 'checkout.paid'])
  })

  it('can be withdrawn by its own project, unless a payment is under way', async () => {
    const { ledger } = await open()
    const told = await listenTo(ledger)
    const id = await create(ledger)
    const entry = newEntry()
    expect(await ledger.checkouts.cancel('other', id)).toBeUndefined()
    expect(await ledger.checkouts.cancel('shop', newCheckout().id)).toBeUndefined()
    await take(ledger, id, entry)
    expect(await ledger.checkouts.cancel('shop', id)).toBe('in_progress')
    await ledger.payments.release(entry)
    expect(await ledger.checkouts.cancel('shop', id)).toMatchObject({ id, status: 'canceled' })
    expect(await ledger.checkouts.cancel('shop', id)).toMatchObject({ id, status: 'canceled' })
    expect(await take(ledger, id, entry)).toBe('canceled')
    expect(await told()).toEqual([])
  })

  it('is either paid or withdrawn, when both are asked for at once', async () => {
    const { ledger, another } = await open()
    const other = another()
    for (let round = 0; round < 5; round++) {
      const id = await create(ledger)
      const [taken, canceled] = await Promise.all([
        take(ledger, id, newEntry()),
        other.checkouts.cancel('shop', id),
      ])
      if (taken === undefined) expect(canceled).toBe('in_progress')
      else expect([taken, canceled]).toMatchObject(['canceled', { status: 'canceled' }])
    }
  })
})

/** A ledger in memory has one process only. */
const shared = stores.filter(([name]) => name !== 'memory')

describe.each(shared)('checkouts of the %s ledger, of several processes,', (_name, openStore) => {
  const toEnd = useCleanup()
  const open = (): Promise<TestStore> => openStore(toEnd)

  it('go to the next payment once the process of the first is dead, which then can send nothing', async () => {
    const { ledger, another, pass } = await open()
    const other = another()
    let [id, first, second] = ['', newEntry(), newEntry()]
    // The first process lives, and may renew its lock in between.
    await until(async () => {
      ;[id, first, second] = [await create(ledger), newEntry(), newEntry()]
      await take(ledger, id, first)
      await pass(LOCK_MS)
      return (await take(other, id, second)) === undefined
    })
    await expect(ledger.payments.submit(first, SUBMISSION)).rejects.toMatchObject(UNAVAILABLE)
    await other.payments.submit(second, SUBMISSION)
    await other.payments.markSettled(second, SUBMISSION.transaction)
    expect(await other.checkouts.find(id)).toMatchObject({
      status: 'paid',
      settlement: recordId(second),
    })
  })

  it('take the lock from a failed payment whose process is dead', async () => {
    const { ledger, another, pass } = await open()
    const other = another()
    let first = newEntry()
    await until(async () => {
      const id = await create(ledger)
      first = newEntry()
      await take(ledger, id, first)
      await ledger.payments.submit(first, SUBMISSION)
      await ledger.payments.markFailed(first, FAILURE)
      await ledger.payments.relock(first)
      await ledger.checkouts.take(id, recordId(first))
      await pass(LOCK_MS)
      return (await take(other, id, newEntry())) === undefined
    })
    const again = { ...SUBMISSION, accountNonce: 8, transaction: `0x${'dd'.repeat(32)}` as const }
    await expect(ledger.payments.submit(first, again)).rejects.toMatchObject(UNAVAILABLE)
  })

  it('lapse although the process of its payment is dead', async () => {
    const { ledger, pass } = await open()
    let id = ''
    await until(async () => {
      id = await create(ledger, { expiresInMs: LOCK_MS })
      await take(ledger, id, newEntry())
      await pass(LOCK_MS + 1)
      expect(await ledger.checkouts.listDue()).toContain(id)
      return (await ledger.checkouts.conclude(id, described)) === true
    })
    expect(await ledger.checkouts.find(id)).toMatchObject({
      status: 'expired',
      settlement: undefined,
    })
  })
})
