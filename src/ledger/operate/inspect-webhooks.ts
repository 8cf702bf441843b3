import type { Kysely } from 'kysely'
import { OPERATOR } from '../webhooks.js'
import type { LedgerDatabase } from '../schema/schema.js'

/** Endpoints that are looked at, the oldest first. */
const MAX_ENDPOINTS = 1000

/** A webhook, and the state of its deliveries. */
export interface InspectedWebhook {
  readonly id: string
  readonly project: string
  readonly url: string
  /** Whether a project of the ledger has it, or the operator. */
  readonly isOwned: boolean
  /** Deliveries that are not tried any more. */
  readonly failed: number
  /** Deliveries whose attempts have failed so far, and that are tried again. */
  readonly waiting: number
  /** Milliseconds for which the oldest delivery has waited without an attempt; 0 without one. */
  readonly untriedMs: number
  /** What was wrong with the last attempt that failed. */
  readonly lastError?: string | undefined
}

/** Reads all webhooks of a ledger, with the state of their deliveries. */
export async function readWebhooks(
  db: Kysely<LedgerDatabase>,
  now: number,
): Promise<readonly InspectedWebhook[]> {
  const endpoints = await db
    .selectFrom('x402_webhook_endpoints as e')
    .leftJoin('x402_projects as p', (join) =>
      join.onRef('p.id', '=', 'e.project').on('p.deleted_at', 'is', null),
    )
    .select(['e.id', 'e.project', 'e.url', 'p.id as owner'])
    .orderBy('e.created_at')
    .limit(MAX_ENDPOINTS)
    .execute()
  const troubled = await db
    .selectFrom('x402_webhook_deliveries')
    .select(({ fn }) => ['endpoint', 'state', fn.countAll().as('count')])
    .select(({ fn }) => fn.max('last_error').as('error'))
    .where((where) =>
      where.or([
        where('state', '=', 'failed'),
        where.and([where('state', '=', 'pending'), where('attempts', '>', 0)]),
      ]),
    )
    .groupBy(['endpoint', 'state'])
    .execute()
  const untried = await db
    .selectFrom('x402_webhook_deliveries')
    .select(({ fn }) => ['endpoint', fn.min('created_at').as('since')])
    .where('state', '=', 'pending')
    .where('attempts', '=', 0)
    .groupBy('endpoint')
    .execute()
  return endpoints.map(({ id, project, url, owner }) => {
    const own = troubled.filter(({ endpoint }) => endpoint === id)
    const countOf = (state: string): number =>
      Number(own.find((one) => one.state === state)?.count ?? 0)
    const since = untried.find(({ endpoint }) => endpoint === id)?.since
    return {
      ...{ id, project, url, isOwned: owner !== null || project === OPERATOR },
      ...{ failed: countOf('failed'), waiting: countOf('pending') },
      untriedMs: since === undefined ? 0 : now - Number(since),
      lastError: own.find(({ error }) => error !== null)?.error ?? undefined,
    }
  })
}
