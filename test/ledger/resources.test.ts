import { describe, expect, it } from '@jest/globals'
import { Catalogue } from '../../src/discovery/catalogue.js'
import { RESOURCES_OF_PROJECT, type ResourceSales } from '../../src/ledger/resources.js'
import { useCleanup } from '../support/cleanup.js'
import { stores } from '../webhooks/stores.js'

const sale = (id: string, more: Partial<ResourceSales> = {}): ResourceSales => ({
  ...{ id, project: 'shop', listing: `{"resource":"${id}"}`, count: 1, sold_at: 1000 },
  ...more,
})

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
    const last = { listing: '{"resource":"new"}', sold_at: 9000 }
    await ledger.resources.addSales([sale('a', last)])
    await another().resources.addSales([sale('b', { sold_at: 500 })])
    expect(await ledger.resources.listResources()).toEqual([
      { id: 'a', project: 'shop', listing: last.listing, count: 31, soldAt: 9000 },
      { id: 'b', project: 'shop', listing: '{"resource":"b"}', count: 61, soldAt: 1000 },
    ])
  })

  it('forget the oldest of a project that has too many, and none of another', async () => {
    const { ledger } = await openStore(toEnd)
    await ledger.resources.addSales([sale('other', { project: 'other', sold_at: 1 })])
    const many = Array.from({ length: RESOURCES_OF_PROJECT + 20 }, (_, n) =>
      sale(`r${n}`, { sold_at: 1000 + n }),
    )
    await ledger.resources.addSales(many)
    const kept = await ledger.resources.listResources()
    expect(kept).toHaveLength(RESOURCES_OF_PROJECT + 1)
    expect(kept.map(({ id }) => id)).toContain('other')
    expect(kept.map(({ id }) => id)).not.toContain('r19')
    expect(kept.map(({ id }) => id)).toContain('r20')
  })

  it('are read once for many readers, and found by another gateway within five seconds', async () => {
    const { ledger, another } = await openStore(toEnd)
    let reads = 0
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const open = (store: typeof ledger.resources) =>
      new Catalogue({ store, logger, now: () => Date.now() })
    const [seller, reader] = [open(ledger.resources), another().resources]
    const other = open({
      addSales: (sales) => reader.addSales(sales),
      listResources: () => (reads++, reader.listResources()),
    })
    const listing = { resource: 'https://shop.example/', type: 'http', accepts: [] } as const
    expect(await other.list()).toEqual([])
    seller.noteListing('shop', listing)
    seller.noteListing('shop', listing)
    const end = Date.now() + 5000
    let found = await other.list()
    while (found.length === 0 && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      found = await other.list()
    }
    expect(found).toMatchObject([{ ...listing, project: 'shop', count: 2 }])
    expect(reads).toBeLessThan(5)
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
      listResources: () => ledger.resources.listResources(),
    }
    const logger = {
      debug() {},
      info() {},
      warn: (text: string) => void warnings.push(text),
      error() {},
    }
    const catalogue = new Catalogue({ store, logger, now: () => 5 })
    const listing = { resource: 'https://shop.example/', type: 'http', accepts: [] } as const
    catalogue.noteListing('shop', listing)
    await catalogue.flush()
    catalogue.noteListing('shop', listing)
    await catalogue.flush()
    isAway = false
    await catalogue.flush()
    expect(await ledger.resources.listResources()).toMatchObject([{ count: 2, soldAt: 5 }])
    expect(warnings).toEqual([expect.stringContaining('could not store sales')])
  })
})
