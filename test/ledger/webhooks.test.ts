import { describe, expect, it } from '@jest/globals'
import { recordId, type LedgerEntry, type LedgerStore } from '../../src/ledger/index.js'
import {
  MAX_ENDPOINTS,
  WEBHOOK_EVENTS,
  type ClaimedDelivery,
  type WebhookEndpoint,
} from '../../src/ledger/webhooks.js'
import type { RefundEntry } from '../../src/ledger/refunds.js'
import { useCleanup } from '../support/cleanup.js'
import { until } from '../support/until.js'
import { stores, type TestStore } from '../operate/webhooks/stores.js'
import { newEntry, steps, SUBMISSION } from '../support/ledger-entries.js'

const LATE = `0x${'1a'.repeat(32)}` as const
const HOUR = 3_600_000
const FAILURE = {
  transaction: SUBMISSION.transaction,
  reason: 'invalid_transaction_state',
} as const

let names = 0
function endpointNamed(overrides: Partial<WebhookEndpoint> = {}) {
  const id = `we_${(++names).toString(16).padStart(32, '0')}`
  const fields = { id, project: 'shop', url: 'https://shop.example/', secret: 'whsec_one' }
  return { ...fields, events: WEBHOOK_EVENTS, ...overrides }
}

async function register(
  { webhooks }: LedgerStore,
  overrides: Partial<WebhookEndpoint> = {},
): Promise<WebhookEndpoint> {
  const created = await webhooks.endpoints.create(endpointNamed(overrides))
  if (created === undefined) throw new Error('The endpoint was refused.')
  return created
}

/** What an endpoint is told, oldest first. */
async function toldTo({ webhooks }: LedgerStore, { id, project }: WebhookEndpoint) {
  const all = await webhooks.deliveries.list({ project, endpoint: id, limit: 1000 })
  return all.toSorted((a, b) => (a.version ?? 0) - (b.version ?? 0))
}

const typesTo = async (ledger: LedgerStore, endpoint: WebhookEndpoint): Promise<string[]> =>
  (await toldTo(ledger, endpoint)).map(({ type }) => type)

/** Claims everything that is due, and says that it was delivered. */
async function deliverAll({ webhooks: { deliveries } }: LedgerStore, endpoint: WebhookEndpoint) {
  const delivered: ClaimedDelivery[] = []
  for (;;) {
    const claimed = await deliveries.claim(endpoint.id, 100)
    if (claimed.length === 0) return delivered
    for (const one of claimed) await deliveries.conclude(one, { kind: 'delivered', status: 200 })
    delivered.push(...claimed)
  }
}

describe.each(stores)('webhooks of the %s ledger', (_name, openStore) => {
  const toEnd = useCleanup()
  const open = (): Promise<TestStore> => openStore(toEnd)

  it('tell of a settled payment as it was at that moment', async () => {
    const { ledger } = await open()
    const endpoint = await register(ledger)
    const entry = newEntry()
    await steps.settled(ledger, entry)
    const [claimed, ...others] = await ledger.webhooks.deliveries.claim(endpoint.id, 10)
    expect(others).toEqual([])
    expect(claimed).toMatchObject({
      type: 'payment.settled',
      payment: recordId(entry),
      version: 1,
      attempts: 0,
      record: {
        state: 'settled',
        transaction: SUBMISSION.transaction,
        project: 'shop',
        value: 10_000n,
      },
    })
    expect(claimed?.id).toMatch(/^msg_[0-9a-f]{32}$/)
    expect(await ledger.webhooks.deliveries.claim(endpoint.id, 10)).toEqual([])
  })

  it('tell of a payment that is settled by its delivery', async () => {
    const { ledger } = await open()
    const endpoint = await register(ledger)
    const entry = newEntry()
    await steps.submitted(ledger, entry)
    await ledger.payments.markDelivered(entry, {
      transaction: SUBMISSION.transaction,
      transfer: 'log 1',
    })
    expect(await typesTo(ledger, endpoint)).toEqual(['payment.settled'])
  })

  it('tell of a failed payment, and again if it is paid after all', async () => {
    const { ledger } = await open()
    const endpoint = await register(ledger)
    const entry = newEntry()
    await steps.submitted(ledger, entry)
    await ledger.payments.markFailed(entry, FAILURE)
    await ledger.payments.markFailed(entry, FAILURE)
    await ledger.payments.markSettledLate(entry, LATE)
    await ledger.payments.markSettledLate(entry, LATE)
    const claimed = await deliverAll(ledger, endpoint)
    expect(claimed).toMatchObject([
      { type: 'payment.failed', version: 1, record: { state: 'failed', reason: FAILURE.reason } },
      { type: 'payment.corrected', version: 2, record: { state: 'settled', transaction: LATE } },
    ])
  })

  it('tell of refunds that settled or failed, and of no payment if nothing was paid', async () => {
    const { ledger } = await open()
    const endpoint = await register(ledger)
    const payment = newEntry()
    await steps.settled(ledger, payment)
    await ledger.payments.markDelivered(payment)
    const [settled, failed] = [1n, 2n].map((value) => ({
      ...newEntry({ value, payTo: payment.from }),
      ...{ from: payment.payTo, refundOf: recordId(payment) },
    })) as [RefundEntry, RefundEntry]
    for (const refund of [settled, failed]) {
      expect(await ledger.refunds.reserveRefund(refund)).toEqual({ kind: 'reserved' })
      await ledger.payments.submit(refund, SUBMISSION)
      await ledger.payments.unlock(refund)
    }
    await ledger.payments.markSettled(settled, SUBMISSION.transaction)
    await ledger.payments.markFailed(failed, FAILURE)
    await ledger.payments.markSettledLate(failed, LATE)
    const told = await deliverAll(ledger, endpoint)
    const refundOf = recordId(payment)
    const ofRecord = (entry: LedgerEntry) => told.filter((one) => one.payment === recordId(entry))
    expect(ofRecord(payment)).toMatchObject([{ type: 'payment.settled' }])
    expect(ofRecord(settled)).toMatchObject([
      { type: 'refund.pending', version: 1, record: { refundOf, state: 'submitted' } },
      { type: 'refund.settled', version: 2, record: { refundOf, state: 'settled', value: 1n } },
    ])
    expect(ofRecord(failed)).toMatchObject([
      { type: 'refund.pending', version: 1, record: { refundOf, state: 'submitted' } },
      { type: 'refund.failed', version: 2, record: { refundOf, state: 'failed', value: 2n } },
      { type: 'refund.corrected', version: 3, record: { refundOf, transaction: LATE } },
    ])
    expect(told).toHaveLength(6)
  })

  it('tell of the new transaction after a reorganisation', async () => {
    const { ledger } = await open()
    const endpoint = await register(ledger)
    const entry = newEntry()
    await steps.settled(ledger, entry)
    await ledger.payments.markSettledLate(entry, LATE)
    expect(await deliverAll(ledger, endpoint)).toMatchObject([
      { type: 'payment.settled', record: { transaction: SUBMISSION.transaction } },
      { type: 'payment.corrected', version: 2, record: { transaction: LATE } },
    ])
  })

  it('tell once of an abandoned payment, however often it is presented', async () => {
    const { ledger } = await open()
    const endpoint = await register(ledger)
    const entry = newEntry()
    await steps.submitted(ledger, entry)
    expect(await typesTo(ledger, endpoint)).toEqual([])
    for (let presented = 0; presented < 3; presented++) {
      await ledger.payments.unlock(entry)
      await ledger.payments.relock(entry)
    }
    await ledger.payments.markSettled(entry, SUBMISSION.transaction)
    expect(await deliverAll(ledger, endpoint)).toMatchObject([
      { type: 'payment.pending', version: 1, record: { state: 'submitted' } },
      { type: 'payment.settled', version: 2, record: { state: 'settled' } },
    ])
  })

  it('tell nothing of reservations, to other projects, or of events that are not subscribed to', async () => {
    const { ledger } = await open()
    const failures = await register(ledger, { events: ['payment.failed'] })
    const stranger = await register(ledger, { project: 'other' })
    const released = newEntry()
    await ledger.payments.reserve(released)
    await ledger.payments.release(released)
    await steps.settled(ledger, newEntry())
    await steps.settled(ledger, newEntry({ project: undefined }))
    await steps.failed(ledger, newEntry())
    expect(await typesTo(ledger, failures)).toEqual(['payment.failed'])
    expect(await typesTo(ledger, stranger)).toEqual([])
  })

  it('tell each of several endpoints the same version', async () => {
    const { ledger } = await open()
    const endpoints = [await register(ledger), await register(ledger)]
    await steps.settled(ledger, newEntry())
    const told = await Promise.all(endpoints.map((one) => toldTo(ledger, one)))
    expect(told).toMatchObject([[{ version: 1 }], [{ version: 1 }]])
    expect(told[0]![0]!.id).not.toBe(told[1]![0]!.id)
  })

  it('keep a later event back while an earlier one of the same payment is pending', async () => {
    const { ledger, pass } = await open()
    const endpoint = await register(ledger)
    const { deliveries } = ledger.webhooks
    const [first, second] = [newEntry(), newEntry()]
    await steps.failed(ledger, first)
    await ledger.payments.markSettledLate(first, LATE)
    await steps.settled(ledger, second)
    const claimed = await deliveries.claim(endpoint.id, 10)
    expect(claimed.map(({ type }) => type).toSorted()).toEqual([
      'payment.failed',
      'payment.settled',
    ])
    const failed = claimed.find(({ type }) => type === 'payment.failed')!
    const other = claimed.find(({ type }) => type === 'payment.settled')!
    await deliveries.conclude(other, { kind: 'delivered', status: 200 })
    await deliveries.conclude(failed, {
      kind: 'retry',
      afterMs: HOUR,
      error: 'away',
      status: 503,
      response: 'x',
    })
    expect(await deliveries.claim(endpoint.id, 10)).toEqual([])
    await pass(HOUR)
    const again = await deliveries.claim(endpoint.id, 1)
    expect(again).toMatchObject([
      { id: failed.id, attempts: 1, lastStatus: 503, lastError: 'away', lastResponse: 'x' },
    ])
    expect(again[0]!.ageMs).toBeGreaterThanOrEqual(HOUR)
    await deliveries.conclude(again[0]!, { kind: 'delivered', status: 204 })
    expect(await deliveries.claim(endpoint.id, 10)).toMatchObject([{ type: 'payment.corrected' }])
    const [told] = (await toldTo(ledger, endpoint)).filter(({ id }) => id === failed.id)
    expect(told).toMatchObject({ state: 'delivered', attempts: 2, lastStatus: 204 })
    expect(told).not.toHaveProperty('lastError')
  })

  it('give a delivery to another process when its claim has lapsed, and ignore the first one’s report', async () => {
    const { ledger, pass } = await open()
    const endpoint = await register(ledger)
    const { deliveries } = ledger.webhooks
    await steps.settled(ledger, newEntry())
    const [slow] = await deliveries.claim(endpoint.id, 1)
    await pass(31_000)
    const [next] = await deliveries.claim(endpoint.id, 1)
    expect(next?.id).toBe(slow?.id)
    await deliveries.conclude(slow!, { kind: 'failed', error: 'too late' })
    expect(await toldTo(ledger, endpoint)).toMatchObject([{ state: 'pending', attempts: 0 }])
    await deliveries.conclude(next!, { kind: 'returned' })
    expect(await deliveries.claim(endpoint.id, 1)).toMatchObject([{ id: slow?.id, attempts: 0 }])
  })

  it('are claimed once by many processes that look at once', async () => {
    const { ledger, another } = await open()
    const endpoint = await register(ledger)
    for (let count = 0; count < 20; count++) await steps.settled(ledger, newEntry())
    const ledgers = [ledger, another(), another()]
    const claimed = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        ledgers[index % 3]!.webhooks.deliveries.claim(endpoint.id, 3),
      ),
    )
    const ids = claimed.flat().map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const left = await deliverAll(ledger, endpoint)
    expect(ids.length + left.length).toBe(20)
  })

  it('can be sent again by hand, and are then tried for as long as new ones', async () => {
    const { ledger, pass } = await open()
    const endpoint = await register(ledger)
    const { deliveries } = ledger.webhooks
    await steps.settled(ledger, newEntry())
    const [claimed] = await deliveries.claim(endpoint.id, 1)
    expect(await deliveries.resend(endpoint, claimed!.id)).toMatchObject({ state: 'pending' })
    expect(await deliveries.claim(endpoint.id, 1)).toEqual([])
    await deliveries.conclude(claimed!, { kind: 'failed', error: 'given up' })
    expect(await deliveries.listDue()).toEqual([])
    await pass(HOUR)
    const other = { ...endpoint, project: 'other' }
    expect(await deliveries.resend(other, claimed!.id)).toBeUndefined()
    expect(await deliveries.resend({ ...endpoint, id: 'we_0' }, claimed!.id)).toBeUndefined()
    const resent = await deliveries.resend(endpoint, claimed!.id)
    expect(resent).toMatchObject({ state: 'pending', attempts: 0 })
    const [again] = await deliveries.claim(endpoint.id, 1)
    expect(again?.ageMs).toBeLessThan(HOUR)
  })

  it('list deliveries page by page, newest first, and by state', async () => {
    const { ledger } = await open()
    const endpoint = await register(ledger)
    const { deliveries } = ledger.webhooks
    for (let count = 0; count < 7; count++)
      await deliveries.add({ endpoint, type: 'webhook.test', data: { count } })
    const query = { project: 'shop', endpoint: endpoint.id }
    const whole = await deliveries.list({ ...query, limit: 10 })
    expect(whole).toHaveLength(7)
    const first = await deliveries.list({ ...query, limit: 4 })
    const second = await deliveries.list({ ...query, limit: 4, after: first[3] })
    expect([...first, ...second]).toEqual(whole)
    const [claimed] = await deliveries.claim(endpoint.id, 1)
    expect(claimed).toMatchObject({ type: 'webhook.test', data: { count: expect.any(Number) } })
    await deliveries.conclude(claimed!, { kind: 'failed', error: 'given up' })
    expect(await deliveries.list({ ...query, state: 'failed', limit: 9 })).toHaveLength(1)
    expect(await deliveries.list({ ...query, state: 'pending', limit: 9 })).toHaveLength(6)
    expect(await deliveries.list({ ...query, project: 'other', limit: 9 })).toEqual([])
  })

  it('keep endpoints of projects apart, and the previous secret for a while', async () => {
    const { ledger } = await open()
    const { endpoints } = ledger.webhooks
    const endpoint = await register(ledger)
    const { id } = endpoint
    expect(await endpoints.find('shop', id)).toEqual(endpoint)
    expect(await endpoints.find('other', id)).toBeUndefined()
    expect(await endpoints.change('other', id, { url: 'https://thief.example/' })).toBeUndefined()
    const rotation = { secret: 'whsec_two', previousForMs: HOUR }
    expect(await endpoints.rotate('other', id, rotation)).toBeUndefined()
    expect(await endpoints.delete('other', id)).toBe(false)
    const rotated = await endpoints.rotate('shop', id, rotation)
    expect(rotated).toMatchObject({ secret: 'whsec_two', previous: { secret: 'whsec_one' } })
    expect(rotated!.previous!.until - rotated!.updatedAt).toBeGreaterThanOrEqual(HOUR)
    const changed = await endpoints.change('shop', id, { events: ['payment.failed'] })
    expect(changed).toMatchObject({ url: endpoint.url, events: ['payment.failed'] })
    expect(await endpoints.list('shop')).toMatchObject([{ id, events: ['payment.failed'] }])
  })

  it('forget the deliveries of an endpoint that is deleted', async () => {
    const { ledger } = await open()
    const endpoint = await register(ledger)
    await steps.settled(ledger, newEntry())
    expect(await ledger.webhooks.endpoints.delete('shop', endpoint.id)).toBe(true)
    await steps.settled(ledger, newEntry())
    expect(await toldTo(ledger, endpoint)).toEqual([])
    expect(await ledger.webhooks.deliveries.listDue()).toEqual([])
  })

  it('allow at most ten endpoints a project, however many are created at once', async () => {
    const { ledger } = await open()
    const created = await Promise.all(
      Array.from({ length: 30 }, () => ledger.webhooks.endpoints.create(endpointNamed())),
    )
    expect(created.filter(Boolean).length).toBeLessThanOrEqual(MAX_ENDPOINTS)
    expect((await ledger.webhooks.endpoints.list('shop')).length).toBeLessThanOrEqual(MAX_ENDPOINTS)
  })

  it('forget deliveries of a month ago, and nothing that is pending', async () => {
    const { ledger, pass } = await open()
    const endpoint = await register(ledger)
    await steps.settled(ledger, newEntry())
    await deliverAll(ledger, endpoint)
    await steps.settled(ledger, newEntry())
    await pass(31 * 24 * HOUR)
    await ledger.webhooks.deliveries.prune()
    expect(await toldTo(ledger, endpoint)).toMatchObject([{ state: 'pending' }])
  })
})

const shared = stores.filter(([name]) => name !== 'memory')

describe.each(shared)('webhooks of several processes on %s', (_name, openStore) => {
  const toEnd = useCleanup()

  it('free the claims of a process at once when it ends', async () => {
    const { ledger, another } = await openStore(toEnd)
    const endpoint = await register(ledger)
    await steps.settled(ledger, newEntry())
    const ending = another()
    expect(await ending.webhooks.deliveries.claim(endpoint.id, 1)).toHaveLength(1)
    expect(await ledger.webhooks.deliveries.claim(endpoint.id, 1)).toEqual([])
    await ending.close()
    await until(async () => (await ledger.webhooks.deliveries.claim(endpoint.id, 1)).length === 1)
  })

  it('keep no event of a change that was rolled back', async () => {
    const { ledger, execute } = await openStore(toEnd)
    const endpoint = await register(ledger)
    await steps.submitted(ledger, newEntry())
    await execute(`BEGIN; UPDATE x402_authorizations SET state = 'settled'; ROLLBACK`)
    expect(await toldTo(ledger, endpoint)).toEqual([])
    await execute(`BEGIN; UPDATE x402_authorizations SET state = 'settled'; COMMIT`)
    expect(await typesTo(ledger, endpoint)).toEqual(['payment.settled'])
  })

  it('tell of hundreds of payments that one statement settles', async () => {
    const { ledger } = await openStore(toEnd)
    const endpoint = await register(ledger)
    const entries = Array.from({ length: 300 }, () => newEntry())
    await Promise.all(entries.map((entry) => steps.submitted(ledger, entry)))
    await Promise.all(
      entries.map((entry) => ledger.payments.markSettled(entry, SUBMISSION.transaction)),
    )
    const told = await toldTo(ledger, endpoint)
    expect(new Set(told.map(({ payment }) => payment))).toEqual(new Set(entries.map(recordId)))
    expect(told).toHaveLength(300)
  })

  it('forget deliveries whose endpoint is gone', async () => {
    const { ledger, execute } = await openStore(toEnd)
    const endpoint = await register(ledger)
    await steps.settled(ledger, newEntry())
    await execute('DELETE FROM x402_webhook_endpoints')
    await ledger.webhooks.deliveries.prune()
    expect(await toldTo(ledger, endpoint)).toEqual([])
  })
})
