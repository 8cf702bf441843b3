/** A tenant that creates whatever its token lets it create, in parallel and for months: what stays in the ledger. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { MAX_OPEN_CHECKOUTS, MAX_UNPAID_CHECKOUTS } from '../../src/ledger/checkouts.js'
import { recordId, type LedgerStore } from '../../src/ledger/index.js'
import type { ChangeOutcome } from '../../src/ledger/projects.js'
import { MAX_ENDPOINTS } from '../../src/ledger/webhooks.js'
import { useCleanup } from '../support/cleanup.js'
import { FAILURE, newEntry, SUBMISSION } from '../support/ledger-entries.js'
import { stores, type TestStore } from '../operate/webhooks/stores.js'

const DAY_MS = 86_400_000
const ATTEMPTS = 20

const newId = (): string => randomBytes(16).toString('hex')
const author = () => ({ actor: 'a merchant', change: newId() })
const countOf = <T>(all: readonly T[], wanted: T): number =>
  all.filter((one) => one === wanted).length

/** Creates links in parallel, in two processes, every other one with an entry in the audit log. */
const createLinks = (ledgers: readonly LedgerStore[], ids: readonly string[]) =>
  Promise.all(
    ids.map((id, n) =>
      ledgers[n % ledgers.length]!.checkouts.create(
        {
          ...{ id, project: 'greedy', url: 'https://shop.example/', amount: '1.00' },
          ...{ currency: 'USD', expiresInMs: DAY_MS },
        },
        n % 4 < 2 ? author() : undefined,
      ),
    ),
  )

/** Links of the greedy tenant that are there already; created one after the other. */
const links = (count: number, state: string, expiresAt: number, from = 0): string => `
  WITH RECURSIVE s(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM s WHERE n < ${from + count - 1})
  INSERT INTO x402_checkouts (id, project, url, amount, currency, state, expires_at, created_at)
  SELECT 'co_${state}_' || n, 'greedy', 'https://shop.example/', '1.00', 'USD', '${state}', ${expiresAt}, n FROM s`

/** A ledger in memory has one process only. */
const shared = stores.filter(([name]) => name !== 'memory')

describe.each(shared)('what a tenant piles up in a %s ledger', (_name, openStore) => {
  const toEnd = useCleanup()
  const open = async (): Promise<TestStore & { readonly both: readonly LedgerStore[] }> => {
    const store = await openStore(toEnd)
    await store.ledger.payments.listSubmitted()
    return { ...store, both: [store.ledger, store.another()] }
  }

  it('are 10,000 open links, however many it creates at the same time', async () => {
    const { ledger, both, execute } = await open()
    await execute(links(MAX_OPEN_CHECKOUTS - 5, 'open', Date.now() + DAY_MS))
    const ids = Array.from({ length: ATTEMPTS }, () => `co_${newId()}`)
    const created = await createLinks(both, ids)
    expect(countOf(created, undefined)).toBe(ATTEMPTS - 5)
    // Nothing is noted of links that were refused.
    const noted = await ledger.projects.listAudit({ project: 'greedy', limit: 100 })
    const ofAdmins = created.filter((one, n) => one !== undefined && n % 4 < 2)
    expect(noted.map(({ after }) => (after as { checkout: string }).checkout).toSorted()).toEqual(
      ofAdmins.map((one) => one!.id).toSorted(),
    )
    // One that is there is answered once more.
    const there = created.find((one) => one !== undefined)!
    expect(await createLinks(both, [there.id])).toEqual([there])
  })

  it('are 100,000 expired links, of which the oldest give way', async () => {
    const { ledger, both, execute } = await open()
    await execute(links(MAX_UNPAID_CHECKOUTS + 3, 'expired', Date.now()))
    // One new link in 256 looks how many there are.
    await createLinks(both, [`co_${newId().slice(2)}00`])
    const isThere = async (n: number) =>
      (await ledger.checkouts.find(`co_expired_${n}`)) !== undefined
    expect(await Promise.all([0, 1, 2, 3, 4].map(isThere))).toEqual([
      ...[false, false, false],
      ...[true, true],
    ])
  })

  it('are links that nobody has paid, until 90 days after their end', async () => {
    const { ledger, execute } = await open()
    const long = Date.now() - 91 * DAY_MS
    for (const state of ['open', 'paid', 'expired', 'canceled'])
      await execute(links(2, state, long))
    await execute(links(1, 'expired', Date.now() - 89 * DAY_MS, 2))
    const failed = newEntry()
    await ledger.payments.reserve(failed)
    // A failed payment of it may be mined after all.
    await execute(
      `UPDATE x402_checkouts SET expires_at = ${Date.now() + DAY_MS} WHERE id = 'co_open_1'`,
    )
    await ledger.checkouts.take('co_open_1', recordId(failed))
    await ledger.payments.submit(failed, SUBMISSION)
    await ledger.payments.markFailed(failed, FAILURE)
    await execute(
      `UPDATE x402_checkouts SET expires_at = ${long}, state = 'expired' WHERE id = 'co_open_1'`,
    )
    await ledger.checkouts.prune()
    const left = await ledger.checkouts.list({ project: 'greedy', limit: 100 })
    expect(left.map(({ id }) => id).toSorted()).toEqual([
      ...['co_expired_2', 'co_open_0', 'co_open_1', 'co_paid_0', 'co_paid_1'],
    ])
  })

  it('are ten webhooks, however many it creates at the same time', async () => {
    const { ledger, both } = await open()
    const created = await Promise.all(
      Array.from({ length: ATTEMPTS }, (_, n) => {
        const { endpoints } = both[n % 2]!.webhooks
        const endpoint = { project: 'greedy', url: 'https://shop.example/', secret: 'whsec_one' }
        const own = n % 4 < 2 ? endpoints.by(author()) : endpoints
        return own.create({ ...endpoint, id: `we_${newId()}`, events: ['payment.settled'] })
      }),
    )
    expect(countOf(created, undefined)).toBe(ATTEMPTS - MAX_ENDPOINTS)
    expect(await ledger.webhooks.endpoints.list('greedy')).toHaveLength(MAX_ENDPOINTS)
  })

  it('are twenty tokens in use, and a thousand that it has revoked', async () => {
    const { ledger, both, execute } = await open()
    const create = ({ projects }: LedgerStore): Promise<ChangeOutcome> =>
      projects.createToken(
        {
          ...{ id: newId(), project: 'greedy', hash: newId(), label: '', scopes: ['read'] },
          ...{ isConfigured: true, most: 20 },
        },
        author(),
      )
    const outcomes = await Promise.all(Array.from({ length: 30 }, (_, n) => create(both[n % 2]!)))
    expect([countOf(outcomes, 'done'), countOf(outcomes, 'full')]).toEqual([20, 10])
    await execute(`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1005)
      INSERT INTO x402_project_tokens (id, project, hash, label, scopes, position, created_at, revoked_at)
      SELECT 'tok_' || n, 'greedy', 'hash-' || n, '', 'read', -n, 0, 0 FROM s`)
    const tokens = await ledger.projects.listTokens('greedy')
    const used = tokens.find(({ revokedAt }) => revokedAt === undefined)
    await ledger.projects.revokeToken({ id: used!.id, project: 'greedy' }, author())
    expect(await create(ledger)).toBe('done')
    // All that are in use, and the newest of those that were revoked.
    await execute(`UPDATE x402_project_tokens SET revoked_at = NULL`)
    const { tokens: left } = await ledger.projects.load()
    expect(left).toHaveLength(20 + 1000)
    expect(left.map(({ id }) => id)).not.toContain('tok_1000')
  })

  it('are 10,000 entries of the audit log, and all of other tenants', async () => {
    const { ledger, execute } = await open()
    await execute(`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 10003)
      INSERT INTO x402_audit_log (position, id, at, actor, action, project)
      SELECT -n, 'change-' || n, 0, 'one', 'refund.requested', CASE n WHEN 10002 THEN 'other' ELSE 'greedy' END FROM s`)
    await ledger.projects.noteAct({ action: 'refund.requested', project: 'greedy' }, author())
    const entries = (project: string) => ledger.projects.listAudit({ project, limit: 20_000 })
    expect(await entries('greedy')).toHaveLength(10_000)
    expect((await entries('greedy')).at(-1)?.id).toBe('change-9999')
    expect(await entries('other')).toHaveLength(1)
  })
})
