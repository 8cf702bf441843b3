import { describe, expect, it } from '@jest/globals'
import type { LedgerStore } from '../../src/ledger/index.js'
import { ALERT_PAUSE_MS } from '../../src/ledger/webhooks/alerts.js'
import { OPERATOR, type WebhookEvent } from '../../src/ledger/webhooks.js'
import { useCleanup } from '../support/cleanup.js'
import { stores } from '../operate/webhooks/stores.js'

const LOW = { type: 'relayer.low', about: '84532 0xab', level: '50' } as const
const DATA = { address: '0xAb' }

let names = 0
async function register(
  { webhooks }: LedgerStore,
  { project = OPERATOR, events = ['relayer.low'] as readonly WebhookEvent[] } = {},
) {
  const id = `we_${(++names).toString(16).padStart(32, '0')}`
  const fields = { id, project, events, url: 'https://operator.example/', secret: 'whsec_one' }
  return (await webhooks.endpoints.create(fields))!
}

describe.each(stores)('alerts of relayers in the %s ledger', (_name, openStore) => {
  const toEnd = useCleanup()
  const toldTo = async ({ webhooks }: LedgerStore, endpoint: { id: string; project: string }) =>
    webhooks.deliveries.list({ project: endpoint.project, endpoint: endpoint.id, limit: 100 })

  it('reach each endpoint of the operator once, whichever process tells', async () => {
    const { ledger, another } = await openStore(toEnd)
    const endpoints = [await register(ledger), await register(ledger)]
    const shop = await register(ledger, { project: 'shop' })
    const ledgers = [ledger, another(), another()]
    const told = await Promise.all(
      Array.from({ length: 12 }, (_, index) => ledgers[index % 3]!.webhooks.alerts.tell(LOW, DATA)),
    )
    expect(told.filter(Boolean)).toHaveLength(1)
    for (const endpoint of endpoints) {
      const expected = { type: 'relayer.low', project: OPERATOR, state: 'pending' }
      expect(await toldTo(ledger, endpoint)).toMatchObject([expected])
      const [claimed] = await ledger.webhooks.deliveries.claim(endpoint.id, 5)
      expect(claimed).toMatchObject({ data: DATA, attempts: 0 })
      expect(claimed).not.toHaveProperty('payment')
    }
    expect(await toldTo(ledger, shop)).toEqual([])
  })

  it('are repeated after an hour, and not before', async () => {
    const { ledger, pass } = await openStore(toEnd)
    const { alerts } = ledger.webhooks
    await register(ledger)
    expect(await alerts.tell(LOW, DATA)).toBe(true)
    await pass(ALERT_PAUSE_MS - 60_000)
    expect(await alerts.tell(LOW, DATA)).toBe(false)
    await pass(60_000)
    expect(await alerts.tell(LOW, DATA)).toBe(true)
    expect(await alerts.tell(LOW, DATA)).toBe(false)
  })

  it('are repeated after the relayer was funded, but not after a change of fees', async () => {
    const { ledger, another } = await openStore(toEnd)
    const { alerts } = ledger.webhooks
    await register(ledger)
    expect(await alerts.tell(LOW, DATA)).toBe(true)
    await alerts.end(LOW)
    await alerts.end({ ...LOW, level: '10' })
    await alerts.end({ ...LOW, about: '1 0xab', level: '90' })
    expect(await alerts.tell(LOW, DATA)).toBe(false)
    await another().webhooks.alerts.end({ ...LOW, level: '51' })
    expect(await alerts.tell({ ...LOW, level: '10' }, DATA)).toBe(true)
  })

  it('are separate for each network and relayer', async () => {
    const { ledger } = await openStore(toEnd)
    const { alerts } = ledger.webhooks
    await register(ledger)
    for (const other of [{}, { about: '1 0xab' }, { about: '84532 0xcd' }])
      expect(await alerts.tell({ ...LOW, ...other }, DATA)).toBe(true)
    expect(await alerts.tell(LOW, DATA)).toBe(false)
  })

  it('are not used up while the operator has no endpoint', async () => {
    const { ledger } = await openStore(toEnd)
    const { alerts } = ledger.webhooks
    expect(await alerts.tell(LOW, DATA)).toBe(false)
    const endpoint = await register(ledger)
    expect(await alerts.tell(LOW, DATA)).toBe(true)
    expect(await toldTo(ledger, endpoint)).toHaveLength(1)
  })
})
