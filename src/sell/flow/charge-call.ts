import { isOutsideFailure } from '../../shared/errors.js'
import type { WaitingRequest } from '../../ledger/once/wait.js'
import type { LoggedRequest } from '../respond/log-fields.js'
import { claimAnswerKeys } from './answer-keys.js'
import { outsideFailure, type Exit } from './exits.js'
import type { PaidCall } from './paid-call.js'
import type { Delivery } from './payment-attempt.js'
import type { ExceededLimit } from './payment-rate-limit.js'
import type { Offer } from '../route/offer.js'
import { findPayment, takePayment, type PaidCallContext } from './take-payment.js'

export interface ChargedCall extends PaidCall {
  /** What the call is offered, or how it ends before that. `undefined` if it is free. */
  readonly offer: () => Promise<Offer | ExceededLimit | undefined>
  readonly delivery: Delivery
  /** Waits for the answer, where that is a response of HTTP. */
  readonly res?: WaitingRequest['res']
  /** Answers the call, unless its delivery has. */
  readonly end: (exit: Exit) => void
}

/** Charges for a call, whatever carries it. If it is free, nothing is done. */
export async function chargeCall(
  context: PaidCallContext,
  call: ChargedCall,
): Promise<'free' | void> {
  const { route, caller, delivery, res, end } = call
  let logged: LoggedRequest = { caller, project: route.merchant.project }
  try {
    const offer = await call.offer()
    if (offer === undefined) return 'free'
    if ('kind' in offer) return end(offer)
    const presented = await findPayment(context, { route, caller }, offer)
    if ('kind' in presented) return end(presented)
    logged = presented
    const keys = await claimAnswerKeys(context, presented, res)
    if ('kind' in keys) return end(keys)
    try {
      end(await takePayment(context, { ...presented, keys }, delivery))
    } finally {
      await keys.end()
    }
  } catch (error) {
    if (!isOutsideFailure(error)) throw error
    if (logged.payment !== undefined) context.noteFailure?.(error)
    end(outsideFailure(context, error, logged))
  }
}
