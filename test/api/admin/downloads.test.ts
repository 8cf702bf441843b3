/** Downloads of payments, on every ledger, with payments on a real chain. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import compression from 'compression'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { temporaryFolder, type Cleanup, useCleanup } from '../../support/cleanup.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { openShop, type Shop } from '../../support/shop.js'
import { sendRaw } from '../session/session.js'

const ADMIN_TOKEN = 'an-admin-token-of-the-tests'
const OTHER_TOKEN = 'x402_test-token-of-another'
const OTHER_PAYEE = `0x${'0c'.repeat(20)}` as const

const devnet = useDevnet()

const asAdmin = { Authorization: `Bearer ${ADMIN_TOKEN}` }
const asShop = { 'X-Project-Identify-Token': SHOP_TOKEN }
const asOther = { 'X-Project-Identify-Token': OTHER_TOKEN }

describeDownloads('memory', async () => createMemoryLedger())
describeDownloads('SQLite', async (toEnd) =>
  openSqliteLedger(join(temporaryFolder(toEnd), 'ledger.db')),
)
const root = await findPostgres()
if (root !== undefined)
  describeDownloads('PostgreSQL', async (toEnd) => {
    const schema = await createSchema(root)
    toEnd.push(() => schema.drop())
    return openPostgresLedger(schema.url)
  })

function describeDownloads(name: string, open: (toEnd: Cleanup) => Promise<LedgerStore>): void {
  describe(`downloads of a gateway with a ledger in ${name}`, () => {
    const toEnd = useCleanup(afterAll)
    let shop: Shop
    beforeAll(async () => {
      const { projects } = shopOptions(devnet)
      const opened = await openShop(
        devnet,
        (app, gateway) => {
          app.use(compression({ threshold: 0 }))
          const tea = { merchant: 'shop', reference: '=1+1' }
          app.get('/tea', gateway.x402Protect('$0.01', tea), (_req, res) => {
            res.send('tea')
          })
          app.get('/book', gateway.x402Protect('$1.5', { merchant: 'other' }), (_req, res) => {
            res.send('book')
          })
          app.use(gateway.gatewayRouter())
        },
        {
          ledger: await open(toEnd),
          admin: { tokens: [ADMIN_TOKEN] },
          projects: [
            ...projects!,
            { id: 'other', tokens: [OTHER_TOKEN], merchant: { payTo: OTHER_PAYEE } },
          ],
        },
      )
      toEnd.push(() => opened.close())
      shop = opened
    })

    const buy = async (path: string, payer: number): Promise<void> => {
      expect((await shop.buy(path, devnet.payers[payer]!)).status).toBe(200)
    }

    it('answer HEAD with headers and no file', async () => {
      const path = '/api/v2/merchant/settlements.csv'
      const head = await sendRaw(shop.url, 'HEAD', path, { headers: asShop })
      expect([head.status, head.text]).toEqual([200, ''])
    })

    it('are refused without access and for unknown parameters', async () => {
      for (const face of ['merchant', 'admin']) {
        const { status } = await sendRaw(shop.url, 'GET', `/api/v2/${face}/settlements.csv`)
        expect(status).toBe(401)
      }
      const path = '/api/v2/merchant/settlements.csv?limit=5'
      const own = await sendRaw(shop.url, 'GET', path, { headers: asShop })
      expect([own.status, own.body.code]).toEqual([400, 'invalid_request'])
    })

    it('write files whose sums equal the chain’s', async () => {
      const before = await balanceOf(devnet, OTHER_PAYEE)
      const sumOf = async (query: string, headers: Record<string, string>, face: string) => {
        const path = `/api/v2/${face}/settlements.csv${query}`
        const { status, text, headers: got } = await sendRaw(shop.url, 'GET', path, { headers })
        expect(status).toBe(200)
        expect(got).toMatchObject({
          'content-type': 'text/csv; charset=utf-8',
          'cache-control': 'no-store, no-transform',
        })
        expect(got['content-disposition']).toMatch(
          /^attachment; filename="settlements[\w.-]*\.csv"$/,
        )
        const [head = '', ...lines] = text.trimEnd().split('\r\n')
        const names = head.split(',')
        const rows = lines.map((line) => line.split(','))
        const valueOf = (row: readonly string[], column: string) => row[names.indexOf(column)] ?? ''
        const sum = rows.reduce((total, row) => total + BigInt(valueOf(row, 'units')), 0n)
        return {
          sum,
          rows: rows.map((row) => ({
            project: valueOf(row, 'project'),
            reference: valueOf(row, 'reference'),
          })),
        }
      }
      await buy('/tea', 3)
      for (let count = 0; count < 3; count++) await buy(`/book?${count}`, count)
      const paid = await balanceOf(devnet, OTHER_PAYEE)
      expect(paid - before).toBe(4_500_000n)
      const settled = await sumOf('?status=settled', asOther, 'merchant')
      const oneProject = await sumOf('?status=settled&project=other', asAdmin, 'admin')
      expect(settled.sum).toBe(oneProject.sum)
      expect(settled.rows.every(({ project }) => project === 'other')).toBe(true)
      const own = await sumOf('', asShop, 'merchant')
      expect(own.rows.length).toBeGreaterThan(0)
      expect(own.rows.every(({ reference }) => reference === "'=1+1")).toBe(true)
      const all = await sumOf('?status=settled', asAdmin, 'admin')
      expect(all.sum).toBe(settled.sum + own.sum)
    })
  })
}
