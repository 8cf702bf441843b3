/** How many settlements a search finds, and what they come to. */
import { describe, expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { serveAdmin, OPEN, SHOP_TOKEN } from '../admin/admin.js'
import { newEntry, steps } from '../../support/ledger-entries.js'
import { useOpened } from '../../support/use-opened.js'

const OTHER_TOKEN = 'a-project-token-of-another'
const ASSET = `0x${'ab'.repeat(20)}` as const
const PATH = '/api/v2/merchant/settlements-summary'

const ledger = createMemoryLedger()

const api = useOpened(async () => {
  const order = (project: string, reference: string, value: bigint) =>
    newEntry({ project, value, details: { reference } })
  await steps.settled(ledger, order('shop', 'order-1', 10n ** 20n))
  await steps.settled(ledger, order('shop', 'order-1', 5n))
  await steps.settled(ledger, order('shop', 'order-2', 7n))
  await steps.failed(ledger, order('shop', 'order-1', 11n))
  await steps.settled(ledger, order('other', 'order-1', 13n))
  const other = { id: 'other', tokens: [OTHER_TOKEN], merchant: { payTo: `0x${'0b'.repeat(20)}` } }
  return serveAdmin({ ...OPEN, ledger, projects: [...OPEN.projects!, other] })
})

const ask = (query: string, token = SHOP_TOKEN) =>
  api.get(`${PATH}?${query}`, { 'X-Project-Identify-Token': token })

const sum = (count: number, amount: string) => [
  expect.objectContaining({ count, amount, refunded: '0', asset: expect.stringMatching(/^0xAB/i) }),
]

describe('the summary of a search', () => {
  it('counts what is found, and sums to the unit what was paid of it', async () => {
    expect((await ask('reference=order-1')).body).toEqual({
      ...{ count: 3, isMore: false, sums: sum(2, '100000000000000000005') },
    })
    expect((await ask('')).body).toMatchObject({ count: 4, sums: sum(3, '100000000000000000012') })
    expect((await ask('status=failed')).body).toEqual({ count: 1, isMore: false, sums: [] })
    expect((await ask('reference=nothing')).body).toEqual({ count: 0, isMore: false, sums: [] })
    const both = await ask(`reference=a&payer=${ASSET}`)
    expect(both.body.errors).toMatchObject([
      { message: expect.stringContaining('cannot be combined') },
    ])
  })

  it('is of the own project, and of any for an operator', async () => {
    expect((await ask('reference=order-1', OTHER_TOKEN)).body).toMatchObject({ sums: sum(1, '13') })
    expect((await ask('project=other')).status).toBe(400)
    const path = '/settlements-summary?reference=order-1'
    const all = await api.ask('GET', path)
    expect(all.body).toMatchObject({ count: 4, sums: sum(3, '100000000000000000018') })
    const wide = await api.ask('GET', '/settlements-summary?status=settled')
    expect(wide.body).toMatchObject({ count: 4, sums: sum(4, '100000000000000000025') })
    const one = await api.ask('GET', `${path}&project=other`)
    expect(one.body).toMatchObject({ count: 1, sums: sum(1, '13') })
  })

  it('looks at 500 at most, and says so', async () => {
    for (let index = 0; index < 501; index++)
      await ledger.payments.reserve(newEntry({ project: 'other', asset: ASSET }))
    const { body } = await ask('status=reserved', OTHER_TOKEN)
    expect(body).toEqual({ count: 500, isMore: true, sums: [] })
  })
})
