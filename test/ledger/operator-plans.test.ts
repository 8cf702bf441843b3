/** How webhooks, projects, tokens and the audit log are read, in large tables. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { LedgerStore } from '../../src/ledger/index.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { loadSqlite } from '../../src/ledger/engine/sqlite.js'
import { OPERATOR } from '../../src/ledger/webhooks.js'
import { temporaryFolder, type Cleanup, useCleanup } from '../support/cleanup.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { explainPostgres, recordPostgres, recordSqlite, type Statement } from './plans.js'

const ENDPOINTS = 5000
const DELIVERIES = 50_000
const OTHERS = 5000

/** A number in as many digits as ids have. */
const padded = (n: string, digits = 32): string =>
  `substr('${'0'.repeat(digits)}' || ${n}, length(CAST(${n} AS TEXT)) + 1, ${digits})`

const numbers = (count: number): string =>
  `WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < ${count - 1})`

/** Nearly all deliveries have arrived; one endpoint has 200 that are due. Both databases take it. */
const FILL: readonly string[] = [
  `${numbers(ENDPOINTS)} INSERT INTO x402_webhook_endpoints
    (id, project, url, events, secret, created_at, updated_at)
    SELECT 'we_' || ${padded('n')}, 'project-' || (n / 5), 'https://shop.example/', ',payment.settled,', 'whsec_one', n, n FROM s`,
  `${numbers(DELIVERIES)} INSERT INTO x402_webhook_deliveries
    (id, endpoint, project, type, payment, version, state, attempts, next_at, retry_from, created_at)
    SELECT 'msg_' || ${padded('n')}, 'we_' || ${padded('(n % 20)')}, 'project-' || ((n % 20) / 5), 'payment.settled',
      ${padded('n')}, 1, CASE WHEN n % 20 = 7 AND n < 4000 THEN 'pending' ELSE 'delivered' END, 0, 1000000 + n, 1000000, 1000000000000000 + n FROM s`,
  `${numbers(OTHERS)} INSERT INTO x402_projects (id, settings, version, position, created_at, updated_at)
    SELECT 'project-' || n, '{}', 1, n, n, n FROM s`,
  `${numbers(OTHERS)} INSERT INTO x402_project_tokens (id, project, hash, label, scopes, position, created_at)
    SELECT 'tok_' || n, 'project-' || (n / 5), ${padded('n', 64)}, '', 'read', n, n FROM s`,
  `${numbers(OTHERS)} INSERT INTO x402_audit_log (position, id, at, actor, action, project)
    SELECT n, 'change-' || n, n, 'admin', 'project.created', 'project-' || (n % 1000) FROM s`,
]

const TABLES = [
  ...['x402_webhook_endpoints', 'x402_webhook_deliveries'],
  ...['x402_projects', 'x402_project_tokens', 'x402_audit_log'],
]

const ENDPOINT = `we_${'7'.padStart(32, '0')}`
const OWN = { project: 'project-1', endpoint: ENDPOINT, limit: 21 }
const DELIVERY = `msg_${'7'.padStart(32, '0')}`
const MIDDLE = { createdAt: 1_000_000_000_000_000 + DELIVERIES / 2, id: DELIVERY }

type Act = [string, (ledger: LedgerStore) => Promise<unknown>]

/** Everything that is done to these tables at requests, and every second. */
const ACTS: readonly Act[] = [
  ['which endpoints have something due', ({ webhooks }) => webhooks.deliveries.listDue()],
  ['what is claimed', ({ webhooks }) => webhooks.deliveries.claim(ENDPOINT, 8)],
  [
    'what an attempt concludes',
    async ({ webhooks: { deliveries } }) => {
      const [claimed] = await deliveries.claim(ENDPOINT, 1)
      await deliveries.conclude(claimed!, { kind: 'delivered', status: 200 })
    },
  ],
  ['the deliveries of an endpoint', ({ webhooks }) => webhooks.deliveries.list(OWN)],
  [
    'a page of them in the middle',
    ({ webhooks }) => webhooks.deliveries.list({ ...OWN, after: MIDDLE }),
  ],
  [
    'those that are pending',
    ({ webhooks }) => webhooks.deliveries.list({ ...OWN, state: 'pending' }),
  ],
  [
    'sending one again',
    ({ webhooks }) => webhooks.deliveries.resend({ project: 'project-1', id: ENDPOINT }, DELIVERY),
  ],
  ['webhooks that fail', ({ webhooks }) => webhooks.deliveries.listFailing(86_400_000)],
  ['forgetting old deliveries', ({ webhooks }) => webhooks.deliveries.prune()],
  ['the endpoints of a project', ({ webhooks }) => webhooks.endpoints.list('project-1')],
  ['the endpoints of the operator', ({ webhooks }) => webhooks.endpoints.list(OPERATOR)],
  ['an endpoint', ({ webhooks }) => webhooks.endpoints.find('project-1', ENDPOINT)],
  [
    'a relayer that is low',
    ({ webhooks }) => webhooks.alerts.tell({ type: 'relayer.low', about: '1 0x', level: '1' }, {}),
  ],
  ['a project', ({ projects }) => projects.findProject('project-7')],
  ['the tokens of a project', ({ projects }) => projects.listTokens('project-7')],
  ['the use of tokens', ({ projects }) => projects.noteUse(['tok_7', 'tok_8'])],
  ['the version of projects', ({ projects }) => projects.version()],
  ['the audit log', ({ projects }) => projects.listAudit({ after: 2500, limit: 21 })],
  ['that of a project', ({ projects }) => projects.listAudit({ project: 'project-7', limit: 21 })],
]

interface Filled {
  readonly ledger: LedgerStore
  readonly statements: Statement[]
  explain(statement: Statement): Promise<readonly string[]>
}

describePlans('SQLite', async (toEnd) => {
  const file = join(temporaryFolder(toEnd), 'ledger.db')
  const statements = recordSqlite()
  const ledger = openSqliteLedger(file)
  await ledger.payments.listSubmitted()
  const own = new (loadSqlite())(file)
  toEnd.push(
    () => ledger.close(),
    () => own.close(),
  )
  for (const statement of FILL) own.exec(statement)
  const explain = async ({ text, values }: Statement): Promise<readonly string[]> =>
    own
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all(...values)
      .map((row) => (row as { readonly detail: string }).detail)
      // Tables are named as the statement calls them.
      .filter((step) => /^SCAN (x402_(webhook|relayer|project|audit)|[a-z]\b)/.test(step))
  return { ledger, statements, explain }
})

const root = await findPostgres()
if (root !== undefined)
  describePlans('PostgreSQL', async (toEnd) => {
    const schema = await createSchema(root)
    const statements = recordPostgres()
    const ledger = openPostgresLedger(schema.url)
    await ledger.payments.listSubmitted()
    const { explain, end } = await explainPostgres(schema.url)
    toEnd.push(
      () => schema.drop(),
      end,
      () => ledger.close(),
    )
    for (const statement of FILL) await schema.execute(statement)
    for (const table of TABLES) await schema.execute(`ANALYZE ${table}`)
    return { ledger, statements, explain }
  })

function describePlans(name: string, open: (toEnd: Cleanup) => Promise<Filled>): void {
  describe(`in large tables of ${name}`, () => {
    const toEnd = useCleanup(afterAll)
    let filled: Filled
    beforeAll(async () => {
      filled = await open(toEnd)
    })

    it.each(ACTS)('an index finds %s', async (_name, act) => {
      const { ledger, statements, explain } = filled
      statements.length = 0
      await act(ledger)
      const ran = statements.filter(({ text }) => /^\s*(select|with|update|delete)/i.test(text))
      expect(ran.length).toBeGreaterThan(0)
      for (const statement of ran) expect(await explain(statement)).toEqual([])
    })
  })
}
