import { describe, expect, it } from '@jest/globals'
import { Catalogue } from '../../src/core/catalogue/catalogue.js'
import {
  RESOURCES_OF_PROJECT,
  type ResourceSales,
  type SoldResource,
} from '../../src/ledger/resources.js'
import { useCleanup } from '../support/cleanup.js'
import { until } from '../support/until.js'
import { stores } from '../operate/webhooks/stores.js'

const sale = (id: string, more: Partial<ResourceSales> = {}): ResourceSales => ({
  ...{ id, project: 'shop', listing: `{"resource":"${id}"}`, claimed: 0, count: 1 },
  ...more,
})

const logger = { debug() {}, info() {}, warn() {}, error() {} }

describe.each(stores)('resources in the %s ledger', (_name, openStore) => {
  const toEnd = useCleanup()

  it('count the sales of all processes, and keep the newest listing and time', async () => {
    const { ledger, another } = await openStore(toEnd)
    const ledgers = [ledger, another(), another()]
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        ledgers[index % 3]!.resources.addSales([sale('b', { count: 2 }), sale('a')]),
      ),
    )
    await ledger.resources.addSales([sale('b')])
    const [{ soldAt }] = (await ledger.resources.listResources(0)) as [SoldResource]
    await another().resources.addSales([sale('a', { listing: '{"resource":"new"}' })])
    const sold = await ledger.resources.listResources(soldAt)
    expect(sold.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toMatchObject([
      { id: 'a', project: 'shop', listing: '{"resource":"new"}', count: 31 },
      { id: 'b', project: 'shop', listing: '{"resource":"b"}', count: 61, soldAt },
    ])
    expect(await ledger.resources.listResources(sold[0]!.readAt + 1)).toEqual([])
  })

  it('keep what a seller says of one, and the first of what buyers say while it is sold like that', async () => {
    const { ledger, pass } = await openStore(toEnd)
    const say = async (listing: string, claimed = 1) => {
      await ledger.resources.addSales([sale('a', { listing, claimed })])
      const [{ count, ...sold }] = (await ledger.resources.listResources(0)) as [SoldResource]
      return [sold.listing, count]
    }
    expect(await say('first')).toEqual(['first', 1])
    expect(await say('other')).toEqual(['first', 1])
    expect(await say('first')).toEqual(['first', 2])
    await pass(8 * 24 * 3_600_000)
    expect(await say('later')).toEqual(['later', 3])
    expect(await say('own', 0)).toEqual(['own', 4])
    await pass(8 * 24 * 3_600_000)
    expect(await say('other')).toEqual(['own', 4])
    expect(await say('own anew', 0)).toEqual(['own anew', 5])
  })

  it('forget the oldest of a project that has too many, and none of another', async () => {
    const { ledger, another } = await openStore(toEnd)
    await ledger.resources.addSales([sale('other', { project: 'other' })])
    const many = Array.from({ length: RESOURCES_OF_PROJECT + 20 }, (_, n) => sale(`r${1000 + n}`))
    await ledger.resources.addSales(many)
    const catalogue = new Catalogue({ store: another().resources, logger })
    const kept = (await catalogue.find(() => true)).map(({ id }) => id)
    expect(kept).toHaveLength(RESOURCES_OF_PROJECT + 1)
    expect(kept).toEqual(expect.arrayContaining(['other', 'r1020']))
    expect(kept).not.toContain('r1019')
  })

  it('forget what only buyers name before anything that a seller names', async () => {
    const { ledger, another, pass } = await openStore(toEnd)
    const claims = (name: string) =>
      Array.from({ length: RESOURCES_OF_PROJECT }, (_, n) => sale(`${name}${n}`, { claimed: 1 }))
    await ledger.resources.addSales([sale('own'), ...claims('r')])
    const stored: SoldResource[] = []
    for (let page; page === undefined || page.length > 0; stored.push(...page))
      page = await ledger.resources.listResources(0, stored.at(-1))
    // Nothing is forgotten again so soon.
    await pass(1000)
    await ledger.resources.addSales(claims('s'))
    const catalogue = new Catalogue({ store: another().resources, logger })
    for (const kept of [stored, await catalogue.find(() => true)]) {
      expect(kept).toHaveLength(RESOURCES_OF_PROJECT)
      expect(kept.some(({ id }) => id === 'own')).toBe(true)
    }
  })

  it('are read once for many readers, however long that takes, and then what was sold since', async () => {
    const { ledger, another, pass } = await openStore(toEnd)
    await ledger.resources.addSales(Array.from({ length: 150 }, (_, n) => sale(`r${n}`)))
    const seller = new Catalogue({ store: ledger.resources, logger })
    const reader = another().resources
    const read: number[] = []
    const listResources: typeof reader.listResources = async (...from) => {
      const page = await reader.listResources(...from)
      read.push(page.length)
      // Longer than what was read is good for.
      if (read.length === 1) await new Promise((resolve) => setTimeout(resolve, 2100))
      return page
    }
    const store = { addSales: reader.addSales.bind(reader), listResources }
    const other = new Catalogue({ store, logger })
    const count = async () => (await other.find(() => true)).length
    const first = count()
    await until(() => read.length >= 1)
    await new Promise((resolve) => setTimeout(resolve, 2050))
    expect(await Promise.all([first, ...Array.from({ length: 50 }, count)])).toEqual(
      Array(51).fill(150),
    )
    expect(read).toEqual([100, 50])
    await pass(11_000)
    seller.noteListing('shop', { resource: 'https://shop.example/', type: 'http', accepts: [] })
    await until(async () => (await count()) === 151 && read.at(-1) === 1)
    const [found] = await other.find(({ listing }) => listing.resource === 'https://shop.example/')
    expect(found).toMatchObject({ project: 'shop', count: 1 })
  })

  it('keep sales that could not be written for the next time', async () => {
    const { ledger } = await openStore(toEnd)
    const warnings: string[] = []
    let isAway = true
    const store = {
      addSales: async (sales: readonly ResourceSales[]) => {
        if (isAway) throw new Error('away')
        return ledger.resources.addSales(sales)
      },
      listResources: ledger.resources.listResources.bind(ledger.resources),
    }
    const warn = (text: string) => void warnings.push(text)
    const catalogue = new Catalogue({ store, logger: { ...logger, warn } })
    const listing = { resource: 'https://shop.example/', type: 'http', accepts: [] } as const
    catalogue.noteListing('shop', listing)
    await catalogue.flush()
    catalogue.noteListing('shop', listing)
    await catalogue.flush()
    isAway = false
    await catalogue.flush()
    expect(await ledger.resources.listResources(0)).toMatchObject([{ count: 2 }])
    expect(warnings).toEqual([expect.stringContaining('could not store sales')])
  })
})
