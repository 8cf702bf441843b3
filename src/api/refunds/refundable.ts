/** How much of a settlement can be refunded, and why not more. */
import { amountOf, type LedgerRecord } from '../../ledger/index.js'
import { leftToRefund } from '../../ledger/refunds.js'
import type { RefundRecord, RefundRefusal } from '../../ledger/refunds.js'
import { takesErc3009, type Asset, type DomainName } from '../../shared/money/assets.js'
import { sameHex } from '../../shared/protocol/hex.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import type { Payee } from '../serve/acting.js'
import type { RouterContext } from '../context.js'
import { findRecord } from '../settlements/settlement-endpoints.js'

export interface Refundable {
  readonly merchant: Payee
  readonly payment: LedgerRecord
  /** Its token, which this process settles. */
  readonly asset: Asset & { readonly eip712: DomainName }
  readonly refunds: readonly RefundRecord[]
}

export const nowSeconds = ({ now }: Pick<RouterContext, 'now'>): bigint =>
  BigInt(Math.floor(now() / 1000))

/** Refuses all refunds where another gateway sends the transactions. */
export function requireLocal({ settledAssets }: RouterContext): void {
  if (settledAssets.length > 0) return
  throw new RequestProblem(
    'refunds_not_available',
    'This gateway sends no transactions itself: ask the facilitator that settles its payments.',
  )
}

/**
 * Finds a settlement of the merchant's project that can be refunded.
 *
 * @throws {@link RequestProblem} 404 for an unknown settlement or one of another project, 409 for one that
 * was not paid.
 */
export async function findRefundable(
  context: RouterContext,
  merchant: Payee,
  id: string,
): Promise<Refundable> {
  const payment = await findRecord(context, merchant.project, id)
  if (payment.state !== 'settled') throw notRefundable(NOT_PAID[payment.state])
  const asset = context.settledAssets.find(
    (one) => one.network.chainId === payment.chainId && sameHex(one.address, payment.asset),
  )
  if (asset === undefined)
    throw notRefundable(
      'This gateway does not settle its token on its network: ask the facilitator that does.',
    )
  if (!takesErc3009(asset)) throw notRefundable(NO_AUTHORIZATIONS)
  const refunds = await context.ledger.refunds.refundsOf([payment.id])
  return { merchant, payment, asset, refunds }
}

const NO_AUTHORIZATIONS =
  'Its token is taken by Permit2 alone here, and a refund is a signed transfer (ERC-3009): send it back from the merchant’s own wallet, to `payer`.'

const NOT_PAID = {
  reserved: 'This settlement is only reserved: nothing was paid yet.',
  submitted: 'This settlement is pending: it can be refunded once it is settled.',
  failed: 'This settlement has failed: nothing was paid.',
} as const

/** What is left of a settlement after its refunds, not counting the refund of this id. */
export function leftOf(
  context: RouterContext,
  { payment, refunds }: Refundable,
  own?: string,
): bigint {
  const others = refunds.filter(({ id }) => id !== own)
  return leftToRefund(amountOf(payment), others, nowSeconds(context))
}

export function refundProblem(refusal: RefundRefusal): RequestProblem {
  switch (refusal.kind) {
    case 'not_refundable':
      return notRefundable('The refund does not pay this settlement back.')
    case 'payment_in_use':
      return notRefundable(
        'What was paid for is being delivered at this moment: try again shortly.',
        { delivering: true },
      )
    case 'too_many_refunds':
      return notRefundable('This settlement has as many refunds as it may have.')
    case 'exceeds_payment':
      return exceedsPayment(refusal.left)
  }
}

export function exceedsPayment(left: bigint): RequestProblem {
  return new RequestProblem(
    'refund_exceeds_payment',
    left === 0n
      ? 'Nothing is left to refund of what this settlement took: see its `amount` and its refunds.'
      : `Only ${left} of this settlement is left to refund, in atomic units.`,
    { left: left.toString() },
  )
}

function notRefundable(detail: string, extensions?: { readonly delivering: true }): RequestProblem {
  return new RequestProblem('settlement_not_refundable', detail, extensions)
}
