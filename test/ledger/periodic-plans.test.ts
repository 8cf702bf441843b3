/** What a gateway asks its ledger by itself, every second to every day, where much has happened before. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { POSTGRES, SQLITE, type SqlDialect } from '../../src/ledger/engine/dialect.js'
import { loadSqlite } from '../../src/ledger/engine/sqlite.js'
import type { LedgerStore } from '../../src/ledger/index.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { closedBy, temporaryFolder, type Cleanup, useCleanup } from '../support/cleanup.js'
import { useDevnet } from '../support/devnet.js'
import { digitsReader, fillStatement } from '../support/fill-ledger.js'
import { newEntry } from '../support/ledger-entries.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { openShop } from '../support/shop.js'
import { until } from '../support/until.js'
import {
  explainPostgres,
  recordPostgres,
  recordSqlite,
  wideReads,
  type Statement,
} from './plans.js'

const ROWS = 20_000
const DAY_MS = 86_400_000
const NOW = Date.now()

const numbers = `WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < ${ROWS - 1})`

/** A history that is over: 20,000 of everything, of 400 projects. Both databases take it. */
const fill = (dialect: SqlDialect): readonly string[] => [
  fillStatement(dialect, { count: ROWS }),
  // Two of three links were not paid, and are younger than they may get.
  `${numbers} INSERT INTO x402_checkouts (id, project, url, amount, currency, state, payment, expires_at, created_at)
    SELECT 'co_' || n, 'project-' || (n % 4), 'https://shop.example/', '1.00', 'USD',
      CASE n % 3 WHEN 0 THEN 'paid' WHEN 1 THEN 'expired' ELSE 'canceled' END,
      CASE n % 3 WHEN 0 THEN ${digitsReader(dialect)("'00'")} END, ${NOW - DAY_MS} - n, n FROM s`,
  `${numbers} INSERT INTO x402_webhook_endpoints (id, project, url, events, secret, created_at, updated_at)
    SELECT 'we_' || n, 'project-' || (n % 400), 'https://shop.example/', ',payment.settled,', 'whsec_one', n, n FROM s`,
  `${numbers} INSERT INTO x402_webhook_deliveries
    (id, endpoint, project, type, state, attempts, next_at, retry_from, created_at)
    SELECT 'msg_' || n, 'we_' || (n % 20), 'project-' || (n % 20), 'payment.settled', 'delivered', 1, n, n, ${NOW} - n FROM s`,
  `${numbers} INSERT INTO x402_audit_log (position, id, at, actor, action, project)
    SELECT n, 'change-' || n, n, 'admin', 'project.created', 'project-' || (n % 400) FROM s`,
  `${numbers} INSERT INTO x402_idempotency (key, fingerprint, answer, done, claim, claimed_until, updated_at)
    SELECT 'key-' || n, 'one', '{}', 1, 'claim-' || n, 0, ${NOW} FROM s`,
  `${numbers} INSERT INTO x402_counts (day, slot, project, kind, label, count)
    SELECT ${Math.floor(NOW / DAY_MS)} - n / 400, 0, 'project-' || (n % 400), 'settled', '', 1 FROM s`,
  `${numbers} INSERT INTO x402_resources (id, project, listing, claimed, count, sold_at)
    SELECT 'resource-' || n, 'project-' || (n % 400), '{}', 0, 1, n FROM s`,
  // Of transactions that were mined, the last hour is kept.
  `INSERT INTO x402_relayer_nonces (chain_id, relayer, next_nonce, mined_nonce, claimed_at)
    VALUES (1, ${digitsReader(dialect)("'01'")}, 1000, 1000, 0)`,
]

const DAY = Math.floor(NOW / DAY_MS)
const SALE = { claimed: 0, listing: '{}', count: 1, sold_at: NOW }

/** Locks are renewed every 200 ms, claims of keys every 1.5 s. */
const OPTIONS = { lockMs: 3000, bytes: { sweepMs: 1000 } }

/** What is done too seldom to wait for it. */
const SELDOM: readonly (readonly [string, (ledger: LedgerStore) => Promise<unknown>])[] = [
  ['forgetting payment links', ({ checkouts }) => checkouts.prune()],
  ['forgetting deliveries', ({ webhooks }) => webhooks.deliveries.prune()],
  ['webhooks that fail', ({ webhooks }) => webhooks.deliveries.listFailing(DAY_MS)],
  ['whether the operator listens', ({ webhooks }) => webhooks.alerts.hasEndpoints()],
  [
    'the end of an alert',
    ({ webhooks }) => webhooks.alerts.end({ type: 'errors.high', about: 'payments' }),
  ],
  ['forgetting counts', ({ counts }) => counts.dropCounts(DAY - 400)],
  [
    'counting',
    ({ counts }) =>
      counts.addCounts([{ day: DAY, project: 'project-1', kind: 'settled', label: '', count: 1 }]),
  ],
  [
    'noting sales',
    ({ resources }) => resources.addSales([{ ...SALE, id: 'resource-1', project: 'project-1' }]),
  ],
  [
    'forgetting answers',
    ({ idempotency }) => idempotency.begin({ key: 'key', fingerprint: 'one' }),
  ],
  [
    'a list of links of one state, though nobody asks for it by himself',
    ({ checkouts }) => checkouts.list({ project: 'project-1', status: 'open', limit: 20 }),
  ],
]

/** What an idle gateway asks within seconds, so that the test knows when it has asked everything. */
const SOON: readonly RegExp[] = [
  /x402_checkouts AS c/,
  /x402_owners/,
  /set "locked_until"/,
  /set "claimed_until"/,
  /delete from "x402_relayer_transactions"/,
  /x402_versions/,
  /NAMED|named\(endpoint\)/,
  /"state" = '?submitted|state = 'submitted'|"state" = (\?|\$1)/,
]

interface Filled {
  readonly ledger: LedgerStore
  readonly statements: Statement[]
  explain(statement: Statement): Promise<readonly string[]>
}

const devnet = useDevnet()

describePlans('SQLite', async (toEnd) => {
  const file = join(temporaryFolder(toEnd), 'ledger.db')
  const statements = recordSqlite()
  const ledger = closedBy(toEnd, openSqliteLedger(file, OPTIONS))
  await ledger.payments.listSubmitted()
  const own = closedBy(toEnd, new (loadSqlite())(file))
  own.exec('PRAGMA busy_timeout = 30000')
  for (const statement of fill(SQLITE)) own.exec(statement)
  return { ledger, statements, explain: async (statement) => wideReads(own, statement) }
})

const root = await findPostgres()
if (root !== undefined)
  describePlans('PostgreSQL', async (toEnd) => {
    const schema = await createSchema(root)
    const statements = recordPostgres()
    const ledger = openPostgresLedger(schema.url, OPTIONS)
    await ledger.payments.listSubmitted()
    const { explain, end } = await explainPostgres(schema.url)
    toEnd.push(
      () => schema.drop(),
      end,
      () => ledger.close(),
    )
    for (const statement of fill(POSTGRES)) await schema.execute(statement)
    await schema.execute('ANALYZE')
    return { ledger, statements, explain }
  })

function describePlans(name: string, open: (toEnd: Cleanup) => Promise<Filled>): void {
  describe(`with a long history in ${name}`, () => {
    const toEnd = useCleanup(afterAll)
    let filled: Filled
    beforeAll(async () => {
      filled = await open(toEnd)
    })

    it('a statement that reads everything is found', async () => {
      const text = `SELECT id FROM x402_checkouts WHERE amount = '2.00'`
      expect(await filled.explain({ text, values: [] })).not.toEqual([])
    })

    /** Statements whose cost follows what there is, with what they read too much of. */
    const costly = async (): Promise<readonly unknown[]> => {
      const texts = new Map(filled.statements.map((one) => [one.text, one]))
      const found: unknown[] = []
      for (const statement of texts.values()) {
        if (!/^\s*(select|with|update|delete|insert)/i.test(statement.text)) continue
        const wide = await filled.explain(statement)
        if (wide.length > 0) found.push([statement.text, wide])
      }
      return found
    }

    it.each(SELDOM)('what changed is read for %s', async (_name, act) => {
      filled.statements.length = 0
      await act(filled.ledger)
      expect(filled.statements.length).toBeGreaterThan(0)
      expect(await costly()).toEqual([])
    })

    it('an idle gateway reads what changed', async () => {
      const { ledger, statements } = filled
      await ledger.payments.reserve(newEntry())
      await ledger.idempotency.begin({ key: 'own', fingerprint: 'one' })
      statements.length = 0
      closedBy(
        toEnd,
        await openShop(devnet, (app, gateway) => void app.use(gateway.gatewayRouter()), {
          ledger,
          admin: { tokens: ['an-admin-token-of-the-tests'] },
          webhooks: { allowPrivate: true },
        }),
      )
      await until(() => SOON.every((text) => statements.some((one) => text.test(one.text))))
      expect(await costly()).toEqual([])
    })
  })
}
