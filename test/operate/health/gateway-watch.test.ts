/** What operators are told of before buyers are. */
import { describe, expect, it } from '@jest/globals'
import {
  GatewayWatch,
  type GatewayWatchOptions,
} from '../../../src/operate/health/gateway-watch.js'
import type { OwnNetwork } from '../../../src/operate/health/check-gateway.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { OPERATOR, OPERATOR_EVENTS } from '../../../src/ledger/webhooks.js'
import { ChainError } from '../../../src/shared/errors.js'
import type { PresentedPayment } from '../../../src/core/schemes/scheme.js'
import { RecentOutcomes } from '../../../src/operate/telemetry/recent-outcomes.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'
import { recordLog } from '../../api/api.js'
import { newEntry, steps } from '../../support/ledger-entries.js'
import { useCleanup } from '../../support/cleanup.js'
import { stores } from '../webhooks/stores.js'

const BASE = findNetwork('base')!
const DAY_MS = 86_400_000

describe.each(stores)('the watch, on %s', (_name, openStore) => {
  const toEnd = useCleanup()

  async function open() {
    const store = await openStore(toEnd)
    const { ledger } = store
    const id = `we_${'0'.repeat(32)}`
    await ledger.webhooks.endpoints.create({
      ...{ id, project: OPERATOR, url: 'https://operator.example/', secret: 'whsec_one' },
      events: OPERATOR_EVENTS,
    })
    const told = async () => {
      const found = await ledger.webhooks.deliveries.claim(id, 20)
      for (const one of found)
        await ledger.webhooks.deliveries.conclude(one, { kind: 'delivered', status: 200 })
      return found.map(({ type, data }) => ({ type, ...data }))
    }
    return { ...store, told }
  }

  function watch(ledger: LedgerStore, options: Partial<GatewayWatchOptions> = {}) {
    const log = recordLog()
    const stopping = new AbortController()
    toEnd.push(() => stopping.abort())
    const made = new GatewayWatch({
      ...{ cores: [], ledger, isRead: false, wakeWebhooks: () => undefined, logger: log },
      recent: new RecentOutcomes(Date.now),
      stopping: stopping.signal,
      now: Date.now,
      lookMs: DAY_MS,
      ...options,
    })
    return Object.assign(made, { log })
  }

  /** A node whose latest block is so old (s), or that fails. */
  const node = (read: () => number | ChainError): OwnNetwork =>
    ({
      chain: {
        network: BASE,
        async getLatestBlock() {
          const age = read()
          if (typeof age !== 'number') throw age
          return { number: 7n, timestamp: BigInt(Math.floor(Date.now() / 1000) - age) }
        },
      },
    }) as unknown as OwnNetwork

  it('tells of a node that does not answer or lags behind for two looks, and of one on the wrong chain', async () => {
    const { ledger, told } = await open()
    let state: number | ChainError = new ChainError('chain_unreachable', 'No answer.')
    const one = watch(ledger, { cores: [node(() => state)] })
    await one.look()
    expect(await told()).toEqual([])
    expect(one.readings.nodes.get('eip155:8453')).toEqual({ isUp: false })
    await one.look()
    await one.look()
    const failing = { type: 'network.failing', network: 'eip155:8453' }
    expect(await told()).toMatchObject([{ ...failing, code: 'chain_unreachable' }])
    expect(one.log.lines).toHaveLength(1)
    state = 3
    await one.look()
    expect(one.readings.nodes.get('eip155:8453')).toEqual({ isUp: true, blockAgeSeconds: 3 })
    state = 4000
    await one.look()
    expect(await told()).toEqual([])
    await one.look()
    expect(await told()).toMatchObject([{ ...failing, code: 'block_stale' }])
    state = 3
    await one.look()
    state = new ChainError('chain_mismatch', 'Chain 1.')
    await one.look()
    expect(await told()).toMatchObject([{ ...failing, code: 'chain_mismatch' }])
  })

  it('tells again of a node that recovered while the gateway was restarted, and failed again', async () => {
    const { ledger, another, told } = await open()
    let state: number | ChainError = new ChainError('chain_unreachable', 'No answer.')
    const before = watch(ledger, { cores: [node(() => state)] })
    for (let round = 0; round < 2; round++) await before.look()
    expect(await told()).toHaveLength(1)
    state = 3
    const after = watch(another(), { cores: [node(() => state)] })
    await after.look()
    state = new ChainError('chain_unreachable', 'No answer.')
    for (let round = 0; round < 2; round++) await after.look()
    expect(await told()).toHaveLength(1)
  })

  it('tells again of a node that recovered while the ledger did not answer, and failed again', async () => {
    const { ledger, told } = await open()
    let state: number | ChainError = new ChainError('chain_unreachable', 'No answer.')
    const one = watch(ledger, { cores: [node(() => state)] })
    for (let round = 0; round < 2; round++) await one.look()
    expect(await told()).toHaveLength(1)
    state = 3
    const { alerts } = ledger.webhooks
    const end = alerts.end.bind(alerts)
    alerts.end = async () => {
      throw new Error('No answer.')
    }
    await one.look()
    alerts.end = end
    await one.look()
    state = new ChainError('chain_unreachable', 'No answer.')
    for (let round = 0; round < 2; round++) await one.look()
    expect(await told()).toHaveLength(1)
  })

  it('tells of a payment that is pending for ten minutes, once for all processes', async () => {
    const { ledger, another, told } = await open()
    await steps.submitted(ledger, newEntry())
    const now = { ms: Date.now() + 599_000 }
    const watches = [ledger, another()].map((each) => watch(each, { now: () => now.ms }))
    for (const one of watches) await one.look()
    expect(await told()).toEqual([])
    now.ms += 60_000
    for (const one of watches) await one.look()
    const [pending, ...others] = await told()
    expect(pending).toMatchObject({ type: 'payments.pending', network: 'eip155:84532' })
    expect(others).toEqual([])
    expect(watches[0]!.readings.oldestPendingSeconds).toBeGreaterThanOrEqual(600)
  })

  it('tells of a payment that is paid and was not delivered for an hour, until it is', async () => {
    const { ledger, told } = await open()
    const [delivered, left] = [newEntry(), newEntry()]
    for (const entry of [delivered, left]) await steps.settled(ledger, entry)
    await ledger.payments.markDelivered(delivered)
    const now = { ms: Date.now() + 3_590_000 }
    const one = watch(ledger, { now: () => now.ms })
    await one.look()
    expect(await told()).toEqual([])
    now.ms += 60_000
    await one.look()
    const { id } = (await ledger.payments.find(left))!
    expect(await told()).toMatchObject([{ type: 'payments.undelivered', payment: id }])
    await ledger.payments.markDelivered(left)
    expect(await ledger.payments.findUndelivered()).toBeUndefined()
  })

  it('tells of a webhook to which nothing was delivered for a day', async () => {
    const { ledger, pass, told } = await open()
    const { endpoints, deliveries } = ledger.webhooks
    const register = async (id: string) =>
      (await endpoints.create({
        ...{ id: `we_${id.repeat(32)}`, project: 'shop', url: 'https://shop.example/' },
        ...{ secret: 'whsec_two', events: ['payment.settled'] as const },
      }))!
    const [failing, recovered] = [await register('1'), await register('2')]
    for (const endpoint of [failing, recovered]) {
      await deliveries.add({ endpoint, type: 'webhook.test', data: {} })
      const [claimed] = await deliveries.claim(endpoint.id, 1)
      const afterMs = 3 * DAY_MS
      await deliveries.conclude(claimed!, { kind: 'retry', error: 'HTTP 500', afterMs })
    }
    expect(await deliveries.listFailing(DAY_MS)).toEqual([])
    await pass(DAY_MS + 1000)
    await deliveries.add({ endpoint: recovered, type: 'webhook.test', data: {} })
    const [claimed] = await deliveries.claim(recovered.id, 1)
    await deliveries.conclude(claimed!, { kind: 'delivered', status: 200 })
    await watch(ledger).look()
    expect(await told()).toMatchObject([
      { type: 'webhook.failing', webhook: failing.id, project: 'shop' },
    ])
  })

  it('tells of many errors, and not of a few among many payments', async () => {
    const { ledger, told } = await open()
    const recent = new RecentOutcomes(Date.now)
    const one = watch(ledger, { recent })
    for (let count = 0; count < 30; count++) recent.note({ kind: 'settled' })
    for (let count = 0; count < 5; count++) recent.note({ kind: 'error', error: undefined })
    await one.look()
    expect(await told()).toEqual([])
    for (let count = 0; count < 5; count++) recent.note({ kind: 'error', error: undefined })
    await one.look()
    expect(await told()).toEqual([{ type: 'errors.high', errors: 10, settled: 30, minutes: 10 }])
  })
})

describe('the outcomes of the last ten minutes', () => {
  it('forget older ones', () => {
    let now = 0
    const recent = new RecentOutcomes(() => now)
    recent.note({ kind: 'error', error: undefined })
    now += 9 * 60_000
    recent.note({ kind: 'settled' })
    recent.note({ kind: 'released' })
    expect(recent.read()).toEqual({ errors: 1, settled: 1 })
    now += 60_000
    expect(recent.read()).toEqual({ errors: 0, settled: 1 })
  })

  it('leave out refunds and mere verifications', () => {
    const recent = new RecentOutcomes(Date.now)
    const end = (presented: Partial<PresentedPayment>): void =>
      recent.begin(presented as PresentedPayment).end({ kind: 'settled' })
    end({ purpose: 'settle', refundOf: 'f'.repeat(32) })
    end({ purpose: 'verify' })
    expect(recent.read()).toEqual({ errors: 0, settled: 0 })
    end({ purpose: 'settle' })
    expect(recent.read()).toEqual({ errors: 0, settled: 1 })
  })
})
