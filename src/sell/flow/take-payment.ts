/**
 * The story of a paid call, whatever carries it: finds its payment, and takes it. Nothing is answered here: a step that
 * cannot go on returns the exit that the call ends with.
 */
import { countRefusal } from '../../core/facilitator/count-events.js'
import type { ReservingFacilitator } from '../../core/facilitator/facilitator.js'
import { isRefusal } from '../../core/schemes/scheme.js'
import type { Counters } from '../../ledger/counters.js'
import type { OnceContext } from '../../ledger/once/once.js'
import type { MatchContext } from '../route/match-offer.js'
import { countUnmatched, readMatchingPayment } from '../route/matched-payment.js'
import { offerAgain, type Offer } from '../route/offer.js'
import { purchaseOf, termsOf } from '../route/route-records.js'
import type { Exit } from './exits.js'
import type { PaidCall, PresentedAttempt } from './paid-call.js'
import { endRefused, releaseUnpaid } from './payment-attempt.js'
import type { Delivery, PaymentAttempt, Reserved } from './payment-attempt.js'
import { redeemStored, refuseUnstored } from './redeem-stored.js'

export interface PaidCallContext extends OnceContext, MatchContext {
  readonly facilitator: ReservingFacilitator
  /** Counts by day and project. */
  readonly counters: Counters
}

export async function findPayment(
  context: PaidCallContext,
  { route, caller }: PaidCall,
  offer: Offer,
): Promise<PresentedAttempt | Exit> {
  const { view } = caller
  const { paused, project } = route.merchant
  const read = await readMatchingPayment(context, { route, offer }, view)
  if (read.kind !== 'matched') {
    if (paused) return { kind: 'merchant_paused' }
    countUnmatched(context.counters, route, read)
    return read
  }
  const exceeded = await caller.count()
  if (exceeded !== undefined) return exceeded
  const { payment } = read
  const offered = offerAgain(offer, payment.requirements)
  const asked = { url: offered.resource.url, price: payment.price }
  const bought = purchaseOf(view, asked, payment)
  return { route, caller, project, offer: offered, payment, bought }
}

export async function takePayment(
  context: PaidCallContext,
  attempt: PaymentAttempt,
  delivery: Delivery,
): Promise<Exit> {
  const { caller, project, payment, keys } = attempt
  const { kept } = keys
  // The caller may have left while it waited for a price, a limit or a key.
  if (caller.isGone) {
    await keys.id.abandon()
    return { kind: 'over' }
  }
  context.counters.count(project, 'presented')
  if (delivery.isFull) {
    await keys.id.abandon()
    return { kind: 'server_busy' }
  }
  if (payment.storedOnly && kept === undefined) {
    const refusal = await refuseUnstored(context, attempt)
    countRefusal(context.counters, { ...refusal, project, reason: refusal.refused })
    return endRefused(context, attempt, refusal)
  }
  const reserved = await reserve(context, attempt)
  if (reserved.kind !== 'reserved') return reserved
  const isRedeemed = payment.storedOnly || keys.charge.kept !== undefined
  return isRedeemed && kept ? redeemStored(reserved, kept) : delivery.run(reserved)
}

async function reserve(
  context: PaidCallContext,
  attempt: PaymentAttempt,
): Promise<Reserved | Exit> {
  const { route, caller, payment, bought, offer } = attempt
  const terms = termsOf(route, { view: caller.view, bought, payment, offer })
  const reservation = await context.facilitator.reserve(payment, terms)
  if (isRefusal(reservation)) return endRefused(context, attempt, reservation)
  const reserved: Reserved = { ...attempt, kind: 'reserved', reservation }
  const refused = await whyRefused(reserved).catch(async (error: unknown) => {
    await releaseUnpaid(context, reserved)
    throw error
  })
  if (refused === undefined) return reserved
  await releaseUnpaid(context, reserved)
  return refused
}

async function whyRefused({ caller, keys, reservation }: Reserved): Promise<Exit | undefined> {
  // Nobody is there to receive what the handler would make.
  if (caller.isGone) return { kind: 'over' }
  if (!(await keys.id.claimVerified())) return { kind: 'conflict' }
  // Only now that the payer is verified: else anyone could use up the payer's allowance.
  return caller.count(reservation.payer)
}
