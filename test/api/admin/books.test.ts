/**
 * 500 payments and refunds on two networks, in three tokens, around the midnights of four time zones: API,
 * CSV, export and console tell of each day what moved on it, to the unit.
 *
 * The ledger's own store has written them: no chain of this machine has these tokens on two networks. That the
 * ledger has what a real chain has moved is shown by `views.test.ts` and `page/walk.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { exportWriter } from '../../../src/ledger/export-format.js'
import type { LedgerLocation } from '../../../src/ledger/engine/location.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { openMaintenance } from '../../../src/ledger/operate/open-maintenance.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { temporaryFolder, type Cleanup, useCleanup, closedBy } from '../../support/cleanup.js'
import { openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { readCsv } from '../../support/read-csv.js'
import { Database } from '../../support/sqlite.js'
import type { GatewayApi } from '../api.js'
import { ADMIN_TOKEN, CLOSED, OPEN, serveAdmin, SHOP_TOKEN, type AdminClient } from './admin.js'
import { dayIn, TOKENS, writeBooks, ZONES, type Movement } from './books.js'
import { signIn, visit } from '../../pages/console/browser.js'

interface Opened {
  readonly ledger: LedgerStore
  readonly location: LedgerLocation
  execute(statement: string): Promise<unknown>
}

const PAYEE = `0x${'cd'.repeat(20)}` as const

const postgres = await findPostgres()

describeBooks('SQLite', async (toEnd) => {
  const file = join(temporaryFolder(toEnd), 'ledger.db')
  const ledger = openSqliteLedger(file)
  await ledger.payments.listSubmitted()
  const own = closedBy(toEnd, new Database(file))
  return { ledger, location: { file }, execute: async (statement) => own.exec(statement) }
})
if (postgres !== undefined)
  describeBooks('PostgreSQL', async (toEnd) => {
    const schema = await createSchema(postgres)
    toEnd.push(() => schema.drop())
    const ledger = openPostgresLedger(schema.url)
    return { ledger, location: { url: schema.url }, execute: (text) => schema.execute(text) }
  })

function describeBooks(name: string, open: (toEnd: Cleanup) => Promise<Opened>): void {
  describe(`the books of a ledger in ${name}`, () => {
    const toEnd = useCleanup(afterAll)
    let opened: Opened
    let api: GatewayApi & AdminClient
    let movements: readonly Movement[]
    beforeAll(async () => {
      opened = await open(toEnd)
      const { ledger, execute } = opened
      const bytes = (id: string): string => (name === 'SQLite' ? `x'${id}'` : `'\\x${id}'`)
      movements = await writeBooks(ledger, (records) => {
        const statements = records.map(
          ({ id, at }) =>
            `UPDATE x402_authorizations SET created_at = ${at}, updated_at = ${at} WHERE id = ${bytes(id)}`,
        )
        return execute(`BEGIN; ${statements.join('; ')}; COMMIT`)
      })
      const node = CLOSED.networks!['base-sepolia']!
      const networks = {
        base: { ...node, assets: ['USDC', 'EURC'] },
        'base-sepolia': node,
      }
      const projects = [{ id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: PAYEE } }]
      api = await serveAdmin({ ...OPEN, networks, projects, ledger, rateLimit: false })
      toEnd.push(() => api.close())
    })

    // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
    const get = async (path: string, query: object): Promise<any> => {
      const { status, body, text } = await api.ask(
        'GET',
        `/${path}?${new URLSearchParams({ ...query }).toString()}`,
      )
      expect([status, status === 200 ? '' : text]).toEqual([200, ''])
      return body ?? text
    }

    it.each(ZONES)('have sums for each day of %s', async (timeZone) => {
      const span = { from: '2026-10-22', to: '2026-10-30', timeZone }
      for (const testnet of [false, true]) {
        const moved = movements.filter(({ token }) => token.network.testnet === testnet)
        const { revenue } = await get('revenue', { ...span, testnet, by: 'day' })
        const told = revenue.map((one: Sum) => [nameOf(one), sumsOf(one)])
        expect(Object.fromEntries(told)).toEqual(
          sumBy(moved, ({ token, at }) => `${dayIn(timeZone, at)} ${tokenName(token)}`),
        )
        expect(revenue.map((one: Sum) => one.testnet ?? false)).toEqual(revenue.map(() => testnet))
      }
      // Unless they are asked for, test networks are left out of what is real.
      const { revenue } = await get('overview', span)
      const real = movements.filter(({ token }) => !token.network.testnet)
      const told = revenue.map((one: Sum) => [nameOf(one), sumsOf(one)])
      expect(Object.fromEntries(told)).toEqual(sumBy(real, ({ token }) => tokenName(token)))
    })

    it.each(ZONES)('list and export what happened on each day of %s', async (timeZone) => {
      for (const [day, next] of DAYS) {
        const query = { from: day, to: next, timeZone }
        const ofDay = movements.filter(({ at }) => dayIn(timeZone, at) === day)
        const csv = readCsv(await get('settlements.csv', query))
        expect(csv).toHaveLength(ofDay.length)
        for (const { createdAt } of csv) expect(createdAt!.slice(0, 10)).toBe(day)
        expect(netOf(csv)).toEqual(netByToken(ofDay))
        for (const network of ['base', 'base-sepolia']) {
          const there = ofDay.filter(({ token }) => token.network.shortName === network)
          for (const [path, kind] of [
            ['settlements', 'payment'],
            ['refunds', 'refund'],
          ] as const) {
            const listed = await listAll(path, { ...query, network })
            const expected = there.filter((one) => one.kind === kind)
            expect(listed.map(({ amount }) => amount).toSorted()).toEqual(
              expected.map(({ units }) => units.toString()).toSorted(),
            )
          }
        }
      }
    })

    it.each(ZONES)('count the payments of each day of %s', async (timeZone) => {
      const { days } = await get('funnel', { from: '2026-10-22', to: '2026-10-30', timeZone })
      const counted = days.map((one: { day: string; settled: number; failed: number }) => [
        one.day,
        [one.settled, one.failed],
      ])
      const expected: Record<string, [number, number]> = {}
      for (const { kind, at, isSettled } of movements) {
        if (kind === 'refund') continue
        const of = (expected[dayIn(timeZone, at)] ??= [0, 0])
        of[isSettled ? 0 : 1]++
      }
      expect(Object.fromEntries(counted)).toEqual(expected)
    })

    it('are exported whole by the command line', async () => {
      const maintenance = openMaintenance(opened.location)
      const { head, line } = exportWriter('csv', [])
      let text = head
      const whole = { from: 0, until: Number.MAX_SAFE_INTEGER, refunds: true }
      for await (const payment of maintenance.export(whole)) text += line(payment)
      await maintenance.close()
      expect(netOf(readCsv(text))).toEqual(netByToken(movements))
    })

    const inBrowser = name === 'SQLite' ? withBrowser : describe.skip
    inBrowser('in the console', () => {
      const browser = useBrowser()

      it.each(ZONES)('are the same in %s', async (timeZone) => {
        const { page } = await openTab(browser, {
          timeZone,
          expected: /status of 401 /,
        })
        await signIn(page, `${api.url}/console/`, ADMIN_TOKEN)
        const span = 'from=2026-10-22&to=2026-10-29'
        await visit(page, [`#/overview?${span}`, 'Overview'])
        const real = movements.filter(({ token }) => !token.network.testnet)
        expect(await headlineOf(page)).toEqual(headlineFrom(real))
        expect(await page.locator('.headline .badge-test').count()).toBe(0)
        for (const token of TOKENS.slice(0, 2)) {
          await page.getByLabel('Token', { exact: true }).selectOption({
            label: `${token.symbol} on Base`,
          })
          expect(await dayTableOf(page)).toEqual(
            dayTableFrom(
              real.filter((one) => one.token === token),
              timeZone,
            ),
          )
        }
        await page.getByLabel('Network').selectOption('test')
        await page.locator('.headline .badge-test').first().waitFor()
        const test = movements.filter(({ token }) => token.network.testnet)
        expect(await headlineOf(page)).toEqual(headlineFrom(test))
        expect(await dayTableOf(page)).toEqual(dayTableFrom(test, timeZone))
        for (const [day] of DAYS) {
          const filters = `from=${day}&to=${day}&network=eip155:84532`
          await visit(page, [`#/settlements?${filters}`, 'Settlements'])
          const expected = test.filter(
            ({ kind, at }) => kind === 'payment' && dayIn(timeZone, at) === day,
          )
          const shown = await page
            .locator('td time')
            .evaluateAll<string[], Element>((all) =>
              all.map((one) => one.getAttribute('title') ?? ''),
            )
          expect(shown).toHaveLength(Math.min(20, expected.length))
          const [, , date] = day.split('-').map(Number)
          for (const title of shown) expect(title).toContain(`Oct ${date}, 2026`)
        }
      })
    })

    async function listAll(path: string, query: object): Promise<readonly { amount: string }[]> {
      const all: { amount: string }[] = []
      let cursor: string | undefined
      do {
        const page = await get(path, { ...query, limit: 100, ...(cursor && { cursor }) })
        all.push(...page[path])
        cursor = page.nextCursor
      } while (cursor !== undefined)
      return all
    }
  })
}

/** Each day, and the next one. */
const DAYS = [22, 23, 24, 25, 26, 27, 28].map(
  (day) => [`2026-10-${day}`, `2026-10-${day + 1}`] as const,
)

interface Element {
  getAttribute(name: string): string | null
}

interface Sum {
  readonly day?: string
  readonly network: string
  readonly asset: string
  readonly testnet?: boolean
  readonly amount: string
  readonly count: number
  readonly refunded: string
  readonly refunds: number
  readonly net: string
}

type Token = Movement['token']

const tokenName = ({ network, address }: Token): string => `${network.caip2} ${address}`
const nameOf = ({ day, network, asset }: Sum): string =>
  [day, network, asset].filter(Boolean).join(' ')
const sumsOf = ({ amount, count, refunded, refunds, net }: Sum) =>
  [amount, count, refunded, refunds, net].join(' ')

const settledOf = (movements: readonly Movement[], kind: Movement['kind']): readonly bigint[] =>
  movements.filter((one) => one.kind === kind && one.isSettled).map(({ units }) => units)
const total = (all: readonly bigint[]): bigint => all.reduce((sum, one) => sum + one, 0n)

/** Groups that something moved in. */
function groupBy(movements: readonly Movement[], nameOfOne: (one: Movement) => string) {
  const groups = new Map<string, Movement[]>()
  for (const one of movements.filter(({ isSettled }) => isSettled)) {
    const name = nameOfOne(one)
    groups.set(name, [...(groups.get(name) ?? []), one])
  }
  return [...groups]
}

/** Sums as {@link sumsOf} has them. */
function sumBy(movements: readonly Movement[], nameOfOne: (one: Movement) => string): object {
  return Object.fromEntries(
    groupBy(movements, nameOfOne).map(([name, all]) => {
      const [paid, back] = [settledOf(all, 'payment'), settledOf(all, 'refund')]
      const [amount, refunded] = [total(paid), total(back)]
      const sums = [amount, paid.length, refunded, back.length, amount - refunded]
      return [name, sums.join(' ')]
    }),
  )
}

function netByToken(movements: readonly Movement[]): object {
  return Object.fromEntries(
    groupBy(movements, ({ token }) => tokenName(token).toLowerCase()).map(([name, all]) => [
      name,
      total(settledOf(all, 'payment')) - total(settledOf(all, 'refund')),
    ]),
  )
}

type CsvRow = Readonly<Record<string, string>>

/** What the column `net` adds up to, by token. */
function netOf(rows: readonly CsvRow[]): object {
  const sums: Record<string, bigint> = {}
  for (const { status, network, asset, net } of rows) {
    if (status !== 'settled') {
      expect(Number(net)).toBe(0)
      continue
    }
    const name = `${network} ${asset}`
    sums[name] = (sums[name] ?? 0n) + unitsOf(net!)
  }
  return sums
}

/** Units of a decimal with six digits at most. */
function unitsOf(decimal: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)([\d,]+)(?:\.(\d+))?$/.exec(decimal) ?? []
  return BigInt(sign + whole.replaceAll(',', '') + fraction.padEnd(6, '0'))
}

/** Amounts of a text: `1,234.50 USDC`. */
const amountsIn = (text: string): readonly bigint[] =>
  [...text.matchAll(/(-?[\d,]+(?:\.\d+)?) (?:USDC|EURC)/g)].map(([, amount]) => unitsOf(amount!))

/** The headline: what is left of each token, what was paid, and what was refunded. */
async function headlineOf(page: Page): Promise<ReadonlySet<bigint>> {
  const texts = page.locator('.headline-main .money-token, .headline-main .headline-note > a')
  return new Set(amountsIn((await texts.allTextContents()).join('\n')))
}

function headlineFrom(movements: readonly Movement[]): ReadonlySet<bigint> {
  const all = groupBy(movements, ({ token }) => tokenName(token)).flatMap(([, of]) => {
    const [paid, back] = [total(settledOf(of, 'payment')), total(settledOf(of, 'refund'))]
    return [paid - back, paid, back]
  })
  return new Set(all)
}

/** The table by day: gross, refunded, net and the number of payments. */
async function dayTableOf(page: Page): Promise<object> {
  const details = page.locator('details').filter({ hasText: 'Revenue by day as a table' })
  const rows = details.locator('tr')
  const texts = await rows.evaluateAll<string[][], Row>((all) =>
    all.map(({ cells }) => [...cells].map(({ textContent }) => textContent ?? '')),
  )
  return Object.fromEntries(
    texts.slice(1).map(([day = '', ...cells]) => {
      const amounts = cells.slice(0, 3).flatMap((cell) => amountsIn(cell))
      return [day, [...amounts, Number(cells[3])]]
    }),
  )
}

interface Row {
  readonly cells: Iterable<{ readonly textContent: string | null }>
}

function dayTableFrom(movements: readonly Movement[], timeZone: string): object {
  const dayOf = ({ at }: Movement): string =>
    new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone }).format(at)
  return Object.fromEntries(
    groupBy(movements, dayOf).map(([day, all]) => {
      const [paid, back] = [settledOf(all, 'payment'), settledOf(all, 'refund')]
      return [day, [total(paid), total(back), total(paid) - total(back), paid.length]]
    }),
  )
}
