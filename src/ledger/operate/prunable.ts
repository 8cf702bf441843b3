import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type * as KyselyModule from 'kysely'
import type { LedgerDatabase } from '../schema/schema.js'

/** A record is kept for so long after its last change, so that a reorganisation can still undo it. */
export const REORG_MS = 3_600_000

/** An authorization counts as lapsed so long after `validBefore`, because clocks and chains differ. */
export const LAPSED_SECONDS = 3600

type Where = ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>

/**
 * Returns the condition of records that nobody needs any more: settled and delivered, or failed; locked
 * by nobody; whose authorization has lapsed, so that the chain refuses it.
 *
 * @param until - Milliseconds since the epoch, as `now`: last changed before.
 */
export function prunable(
  { sql }: typeof KyselyModule,
  state: 'settled' | 'failed',
  { until, now }: { readonly until: number; readonly now: number },
) {
  const lapsed = Math.floor(now / 1000) - LAPSED_SECONDS
  return (where: Where): Expression<SqlBool> =>
    where.and([
      where('state', '=', sql.lit(state)),
      where('updated_at', '<', until),
      // A payment that was not delivered can still be redeemed by its buyer.
      ...(state === 'settled'
        ? [where.or([where('delivered', '=', 1), where('kind', '=', 'refund')])]
        : []),
      where.or([
        where('delivered', '=', 1),
        where('lock_owner', 'is', null),
        where('locked_until', '<', now - REORG_MS),
      ]),
      sql<SqlBool>`CAST(valid_before AS NUMERIC) < ${lapsed}`,
      // What is left of a payment is computed from its refunds: they are deleted after it.
      where.or([
        where('refund_of', 'is', null),
        where.not(
          where.exists(
            where
              .selectFrom('x402_authorizations as payment')
              .select('payment.id')
              .whereRef('payment.id', '=', 'x402_authorizations.refund_of'),
          ),
        ),
      ]),
    ])
}
