/** A tenant and an operator who download everything at once, while others pay. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SQLITE } from '../../src/ledger/engine/dialect.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { closedBy, temporaryFolder, useCleanup } from '../support/cleanup.js'
import { useDevnet } from '../support/devnet.js'
import { fillStatement } from '../support/fill-ledger.js'
import { methodsOf, patchedLedger } from '../support/patched-ledger.js'
import { openShop, type Shop } from '../support/shop.js'
import { Database } from '../support/sqlite.js'
import { until } from '../support/until.js'

const ADMIN_TOKEN = 'an-admin-token-of-the-tests'
const TENANTS = ['one', 'two'] as const
const ROWS = 2000

const devnet = useDevnet()
const tokenOf = (tenant: string): string => `x402_test-token-of-tenant-${tenant}`
const headersOf = (tenant: string) => ({ 'X-Project-Identify-Token': tokenOf(tenant) })

/** One page, from the question to the ledger until its answer. */
interface Read {
  readonly begun: number
  readonly ended: number
}

describe('six downloads at once', () => {
  const toEnd = useCleanup(afterAll)
  const reads: Read[] = []
  let shop: Shop
  beforeAll(async () => {
    const file = join(temporaryFolder(toEnd), 'ledger.db')
    const store = openSqliteLedger(file)
    await store.payments.listSubmitted()
    const database = new Database(file)
    database.exec('PRAGMA busy_timeout = 30000')
    for (const [n, project] of TENANTS.entries())
      database.exec(fillStatement(SQLITE, { count: ROWS, start: 1 + n * ROWS, project }))
    database.close()
    const { list } = methodsOf(store)
    const ledger = patchedLedger(store, {
      async list(query) {
        const begun = performance.now()
        const found = await list(query)
        reads.push({ begun, ended: performance.now() })
        return found
      },
    })
    shop = closedBy(
      toEnd,
      await openShop(devnet, (app, gateway) => void app.use(gateway.gatewayRouter()), {
        ledger,
        admin: { tokens: [ADMIN_TOKEN] },
        projects: TENANTS.map((id) => ({
          id,
          tokens: [tokenOf(id)],
          merchant: { payTo: devnet.merchant.address },
        })),
      }),
    )
  })

  const open = async (path: string, headers: Record<string, string>): Promise<IncomingMessage> => {
    const request = get(shop.url + path, { headers, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  }
  const openAll = (): Promise<readonly IncomingMessage[]> =>
    Promise.all([
      ...TENANTS.flatMap((tenant) => {
        const path = '/api/v2/merchant/settlements.csv'
        return [1, 2].map(() => open(path, headersOf(tenant)))
      }),
      ...[1, 2].map(() =>
        open('/api/v2/admin/settlements.csv', { Authorization: `Bearer ${ADMIN_TOKEN}` }),
      ),
    ])

  it('read one page at a time, and rest after each for as long as it took', async () => {
    const linesOf = async (response: IncomingMessage): Promise<number> => {
      let lines = 0
      for await (const chunk of response) lines += (chunk as Buffer).filter((b) => b === 10).length
      return lines
    }
    const lines = await Promise.all((await openAll()).map(linesOf))
    expect(lines).toEqual([...Array<number>(4).fill(ROWS + 1), 2 * ROWS + 1, 2 * ROWS + 1])
    expect(reads.length).toBeGreaterThan(20)
    for (const [n, { begun, ended }] of reads.entries()) {
      const next = reads[n + 1]
      // A timer may be a millisecond early.
      if (next) expect(next.begun - ended).toBeGreaterThanOrEqual(ended - begun - 2)
    }
  })

  it('read nothing more for a client that is gone', async () => {
    const opened = await openAll()
    const before = reads.length
    for (const response of opened) {
      response.on('error', () => undefined)
      response.destroy()
    }
    // Their places are free once they are seen to be gone; who waits for a turn then gives it to the next one.
    let last: IncomingMessage | undefined
    await until(async () => {
      last?.destroy()
      last = await open('/api/v2/merchant/settlements.csv', headersOf('one'))
      return last.statusCode === 200
    })
    await once(last!.resume(), 'end')
    expect(reads.length - before).toBeLessThan(2 * (ROWS / 100))
  })
})
