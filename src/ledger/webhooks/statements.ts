/** The statements of the dispatcher of webhooks. */
import type { Statement } from '../engine/statement.js'
import { CLAIM_MS, KEPT_MS } from '../webhooks.js'

/** The endpoints that have a delivery, by one look-up in an index for each. @param which - Which deliveries count. */
const named = (which = ''): string => `named(endpoint) AS (
     SELECT * FROM (SELECT a.endpoint FROM x402_webhook_deliveries AS a
       WHERE ${which} a.endpoint > '' ORDER BY a.endpoint LIMIT 1) AS first
     UNION ALL
     SELECT (SELECT a.endpoint FROM x402_webhook_deliveries AS a
       WHERE ${which} a.endpoint > named.endpoint ORDER BY a.endpoint LIMIT 1)
     FROM named WHERE named.endpoint IS NOT NULL)`

const NAMED_PENDING = named(`a.state = 'pending' AND`)

/** Names the endpoints that have a delivery which is due, by one look-up in an index for each that has one pending. */
export const NAME_DUE: Statement = ({ now }) => `
   WITH RECURSIVE ${NAMED_PENDING}
   SELECT endpoint FROM named WHERE endpoint IS NOT NULL AND EXISTS (
     SELECT 1 FROM x402_webhook_deliveries AS a
     WHERE a.endpoint = named.endpoint AND a.state = 'pending' AND a.next_at <= (SELECT ${now}))`

/**
 * Claims due deliveries of an endpoint, by moving the time at which they are due: a claim lapses by itself. A
 * later event of a payment waits for the earlier ones. Gateways that look at the same moment take different
 * deliveries.
 */
export const CLAIM: Statement = ({ isPostgres, now, parameter }) => `
   WITH due AS (
     SELECT a.id FROM x402_webhook_deliveries AS a
     WHERE a.endpoint = ${parameter(1, 'text')} AND a.state = 'pending' AND a.next_at <= (SELECT ${now}) AND NOT EXISTS (
       SELECT 1 FROM x402_webhook_deliveries AS before
       WHERE before.payment = a.payment AND before.endpoint = a.endpoint
         AND before.version < a.version AND before.state = 'pending')
     ORDER BY a.next_at, a.id LIMIT ${parameter(2, 'bigint')}
     ${isPostgres ? 'FOR UPDATE OF a SKIP LOCKED' : ''})
   UPDATE x402_webhook_deliveries SET claim = ${parameter(3, 'text')}, next_at = ${now} + ${CLAIM_MS}
   WHERE id IN (SELECT id FROM due) RETURNING *, ${now} AS now`

/** Columns of the result of an attempt. */
const RESULT = {
  id: 'text',
  claim: 'text',
  state: 'text',
  error: 'text',
  response: 'text',
  attempted: 'bigint',
  after_ms: 'bigint',
  status: 'bigint',
} as const

/** Records the results of attempts whose claims are still good. */
export const CONCLUDE: Statement = ({ now, rows }) => `
   WITH w AS (${rows(RESULT)})
   UPDATE x402_webhook_deliveries AS a SET state = w.state, claim = NULL, attempts = a.attempts + w.attempted,
     next_at = ${now} + w.after_ms,
     delivered_at = CASE w.state WHEN 'delivered' THEN ${now} ELSE a.delivered_at END,
     last_status = CASE w.attempted WHEN 1 THEN w.status ELSE a.last_status END,
     last_error = CASE w.attempted WHEN 1 THEN w.error ELSE a.last_error END,
     last_response = CASE w.attempted WHEN 1 THEN w.response ELSE a.last_response END
   FROM w WHERE a.id = w.id AND a.claim = w.claim`

/** Gives up deliveries to an endpoint that have waited for so long, and that nobody attempts. */
export const GIVE_UP: Statement = ({ now, parameter }) => `
   UPDATE x402_webhook_deliveries SET state = 'failed', last_error = ${parameter(1, 'text')}
   WHERE id IN (
     SELECT a.id FROM x402_webhook_deliveries AS a
     WHERE a.endpoint = ${parameter(2, 'text')} AND a.state = 'pending' AND a.claim IS NULL
       AND a.retry_from <= (SELECT ${now}) - ${parameter(3, 'bigint')}
     LIMIT ${PRUNED_AT_ONCE})
   RETURNING id`

/** Deliveries that one statement forgets. Others wait for it. */
export const PRUNED_AT_ONCE = 500

/**
 * Forgets finished deliveries of long ago. Those of a failed payment stay, because their versions go on if it is
 * paid after all.
 */
export const PRUNE: Statement = ({ now, bytes }) => `
   DELETE FROM x402_webhook_deliveries WHERE id IN (
     SELECT d.id FROM x402_webhook_deliveries AS d
     WHERE d.state <> 'pending' AND d.created_at < (SELECT ${now} - ${KEPT_MS}) AND NOT EXISTS (
       SELECT 1 FROM x402_authorizations AS a WHERE a.id = ${bytes('d.payment')} AND a.state = 'failed')
     LIMIT ${PRUNED_AT_ONCE})
   RETURNING id`

/** Webhooks that are named at once, and deliveries of each that are looked at. */
const MOST_FAILING = 100
const SAMPLE = 100

/**
 * Names webhooks with a delivery that has failed for some time, and to which nothing was delivered since.
 *
 * Of each webhook it looks at the deliveries that wait longest for their next attempt, which have failed most
 * often, and at the newest ones: a receiver that is away may have a million.
 */
export const NAME_FAILING: Statement = ({ now, parameter }) => `
   WITH RECURSIVE ${NAMED_PENDING}, limits(at) AS (SELECT ${now} - ${parameter(1, 'bigint')})
   SELECT w.endpoint, w.project, w.since FROM (
     SELECT named.endpoint,
       (SELECT e.project FROM x402_webhook_endpoints AS e WHERE e.id = named.endpoint) AS project,
       (SELECT min(t.created_at) FROM (
         SELECT a.created_at, a.attempts FROM x402_webhook_deliveries AS a
         WHERE a.endpoint = named.endpoint AND a.state = 'pending'
         ORDER BY a.next_at DESC LIMIT ${SAMPLE}) AS t WHERE t.attempts > 0) AS since
     FROM named WHERE named.endpoint IS NOT NULL) AS w
   WHERE w.project IS NOT NULL AND w.since < (SELECT at FROM limits) AND NOT EXISTS (
     SELECT 1 FROM (
       SELECT d.state, d.delivered_at FROM x402_webhook_deliveries AS d WHERE d.endpoint = w.endpoint
       ORDER BY d.created_at DESC, d.id DESC LIMIT ${SAMPLE}) AS newest
     WHERE newest.state = 'delivered' AND newest.delivered_at > (SELECT at FROM limits))
   ORDER BY w.since, w.endpoint LIMIT ${MOST_FAILING}`

/**
 * Forgets the deliveries of endpoints that were deleted while an event was written. Each endpoint takes one
 * look-up in an index, however many deliveries it has.
 */
export const DROP_ORPHANS: Statement = () => `
   WITH RECURSIVE ${named()}
   DELETE FROM x402_webhook_deliveries WHERE endpoint IN (
     SELECT endpoint FROM named
     WHERE (SELECT e.id FROM x402_webhook_endpoints AS e WHERE e.id = named.endpoint) IS NULL)`
