import type { Response } from 'express'
import { ConfigError, LedgerError, isOutsideFailure } from '../../shared/errors.js'
import { onceClosed } from '../../shared/http/once-closed.js'
import type { Counters } from '../../ledger/counters.js'
import type { Logger } from '../../shared/logger.js'
import { onAbort } from '../../shared/http/on-abort.js'
import type { OpenRequests } from '../../shared/http/open-requests.js'
import { keepPrivate } from '../respond/cache-control.js'
import { removeConditions } from '../respond/conditional-requests.js'
import { outsideFailure, respondExit, type Exit } from './exits.js'
import type { HeldLimits } from '../hold/held-body.js'
import type { HeldBudget } from '../hold/held-budget.js'
import { HeldResponse, type HeldEnd } from '../hold/held-response.js'
import { PAYMENT_CHARGED } from '../../shared/protocol/headers.js'
import { requestFields } from '../respond/log-fields.js'
import {
  attachPayment,
  endReserved,
  markDelivered,
  markUndelivered,
  releaseUnpaid,
  type ReservedAttempt,
} from './payment-attempt.js'
import { refuseCharge, type Meter } from '../route/meter.js'
import { setPaymentResponse } from '../respond/respond.js'
import type { PaidRoute } from '../route/route.js'
import { serializeResponse, serializeUnpaid } from '../respond/stored-response.js'
import { readUndelivered, type RedirectContext, type Undelivered } from '../respond/undelivered.js'
import { openWaiver, whyFree, type WaivedCounter, type Waiver } from './waiver.js'
import { watchForStream } from '../hold/watch-for-stream.js'

/** Dependencies of {@link runThenSettle}. */
export interface AuthorizationFlowContext extends RedirectContext {
  readonly heldBudget: HeldBudget
  readonly counters: Counters
  readonly waived: WaivedCounter
  readonly logger: Logger
  readonly requests: OpenRequests
}

/**
 * The `authorization` flow: runs the handler and holds its response, settles the payment, and then
 * sends the response. A free response is sent, or replaced, without settling.
 */
export async function runThenSettle(
  context: AuthorizationFlowContext,
  route: Pick<PaidRoute, 'maxHeldBytes' | 'chargeIf' | 'warnings' | 'openMeter'>,
  attempt: ReservedAttempt,
): Promise<Exit> {
  const { payer } = attempt.reservation
  const { maxHeldBytes } = route
  const lease = context.heldBudget.open({ payer, maxHeldBytes })
  if (lease === undefined) {
    await releaseUnpaid(context, attempt)
    return { kind: 'server_busy' }
  }
  try {
    await runHeld(context, attempt, { route, limits: { maxHeldBytes, lease } })
    return { kind: 'over' }
  } finally {
    lease.release()
  }
}

/** A route whose response is held. */
interface HeldRoute {
  readonly route: Pick<PaidRoute, 'chargeIf' | 'warnings' | 'openMeter'>
  readonly limits: HeldLimits
}

/** Runs the handler, and writes the end of its held response. */
async function runHeld(
  context: AuthorizationFlowContext,
  attempt: ReservedAttempt,
  { route, limits }: HeldRoute,
): Promise<void> {
  const { req, res, next } = attempt
  const { chargeIf, warnings } = route
  const waiver = openWaiver(res)
  const { held, meter } = await holdResponse(context, attempt, { route, limits, waiver })
  if (!warnings.has('stream'))
    watchForStream(res, () => warnings.warnOfStream(req, { isMetered: meter !== undefined }))
  const remove = onAbort(context.requests.cutOff, () => held.stop())
  try {
    // If its client is gone already, it has ended as aborted.
    if (!held.clientGone) next()
    const end = await held.finished
    const undelivered =
      end.kind === 'ended' ? readUndelivered(context, attempt, end.status) : undefined
    const judged = { end, held, undelivered, waiver, chargeIf }
    const exit = (await isCharged(context, attempt, judged))
      ? await settleThenSend(context, attempt, { held, charge: meter?.close() })
      : await endUncharged(context, attempt, { held, end, undelivered, limits })
    if (exit.kind !== 'over') held.replace(() => respondExit(res, exit))
  } catch (error) {
    if (isOutsideFailure(error))
      return held.replace(() => respondExit(res, outsideFailure(context, error, attempt)))
    held.discard()
    throw error
  } finally {
    remove()
  }
}

/** Starts to hold the response of the handler that is about to run. */
async function holdResponse(
  context: AuthorizationFlowContext,
  attempt: ReservedAttempt,
  { route, limits, waiver }: HeldRoute & { readonly waiver: Waiver },
): Promise<{ readonly held: HeldResponse; readonly meter: Meter | undefined }> {
  try {
    const { req, res, payment, reservation } = attempt
    const meter = route.openMeter(res, payment)
    const charge = meter?.charge ?? refuseCharge
    attachPayment(attempt, { payer: reservation.payer, waive: waiver.waive, charge })
    removeConditions(req)
    return { held: new HeldResponse(res, limits), meter }
  } catch (error) {
    await releaseUnpaid(context, attempt)
    throw error
  }
}

/** A response that has ended. */
interface EndedResponse {
  readonly held: HeldResponse
  readonly end: HeldEnd
  /** Of a response that delivers nothing: what is sent in its place. */
  readonly undelivered: Undelivered | undefined
}

/** Only a complete response that its client is there to receive, and that delivers something, is charged. */
function isChargeable({ end, held, undelivered }: EndedResponse): boolean {
  return end.kind === 'ended' && !held.clientGone && end.status < 400 && undelivered === undefined
}

/** A response that has ended, and what the app says of it. */
interface JudgedResponse extends EndedResponse, Pick<PaidRoute, 'chargeIf'> {
  readonly waiver: Waiver
}

const WRONG_LENGTH =
  'is not the length of the answer, which was not charged for: count bytes with Buffer.byteLength(), or leave it to res.send()'

/** Whether a response is charged for. If the app fails to tell, its payment is released. */
async function isCharged(
  context: AuthorizationFlowContext,
  attempt: ReservedAttempt,
  judged: JudgedResponse,
): Promise<boolean> {
  if (!isChargeable(judged)) return false
  const { held, waiver, chargeIf } = judged
  try {
    if (!held.fitsLength) throw new ConfigError('Content-Length', WRONG_LENGTH, 'invalid_value')
    const reason = whyFree({ held, res: attempt.res, waiver, chargeIf })
    if (reason === undefined) return true
    // It was asked for with a payment: no shared cache may give it to others.
    held.amend(keepPrivate)
    context.waived.count(attempt.project, reason)
    return false
  } catch (error) {
    await releaseUnpaid(context, attempt)
    context.logger.error('An answer was not charged for.', { ...requestFields(attempt), error })
    throw error
  }
}

interface ChargedResponse {
  readonly held: HeldResponse
  /** Units of the token, where the price is a maximum. */
  readonly charge: bigint | undefined
}

/** Settles the payment, and then sends the response. */
async function settleThenSend(
  context: AuthorizationFlowContext,
  attempt: ReservedAttempt,
  { held, charge }: ChargedResponse,
): Promise<Exit> {
  const { res, keys, reservation } = attempt
  if (charge !== undefined) await keepCharged(context, attempt, { held, charge })
  const settlement = await reservation.settle(charge === undefined ? charge : { amount: charge })
  if (!settlement.success)
    return endReserved(attempt, settlement, () => serializeUnpaid(held.response(), charge))
  held.amend(() => {
    setPaymentResponse(res, settlement)
    keepPrivate(res)
  })
  const response = keys.hasId ? held.response() : undefined
  // Nobody has received the response: the payer may ask once more, by id or with the same payment.
  if (held.clientGone && response?.body === undefined) {
    await reservation.reopen()
    return { kind: 'over' }
  }
  const stored = response && serializeResponse(response)
  if (stored !== undefined) await keys.keepPaid(stored, reservation.lock)
  await markDelivered(attempt, settlement)
  if (!held.clientGone) await sendDelivered(attempt, held)
  else if (response?.body === undefined) {
    await markUndelivered(attempt)
    return { kind: 'over' }
  }
  keys.give(stored)
  return { kind: 'over' }
}

/**
 * Keeps a response until it goes out: what its handler charges when it runs again may be more, and the
 * payment is charged once.
 *
 * @throws `LedgerError` if it could not be kept: then nothing is charged.
 */
async function keepCharged(
  context: AuthorizationFlowContext,
  attempt: ReservedAttempt,
  { held, charge }: { readonly held: HeldResponse; readonly charge: bigint },
): Promise<void> {
  const answer = serializeUnpaid(held.response(), charge)
  if (answer === undefined || (await attempt.keys.keepCharged(answer))) return
  await releaseUnpaid(context, attempt)
  throw new LedgerError(
    'ledger_unavailable',
    'The answer could not be kept until it is paid for; nothing was charged.',
  )
}

/** Sends a response that is recorded as delivered. If it cannot be sent, its payment is good once more. */
async function sendDelivered(attempt: ReservedAttempt, held: HeldResponse): Promise<void> {
  try {
    held.send()
  } catch (error) {
    if (!attempt.res.headersSent) await markUndelivered(attempt)
    throw error
  }
}

/** A response that is not charged for. */
interface UnchargedResponse extends EndedResponse {
  readonly limits: HeldLimits
}

/** Releases the payment, and ends a response that is not charged for. */
async function endUncharged(
  context: AuthorizationFlowContext,
  attempt: ReservedAttempt,
  { held, end, undelivered, limits }: UnchargedResponse,
): Promise<Exit> {
  await releaseUnpaid(context, attempt)
  switch (end.kind) {
    case 'ended':
      if (undelivered !== undefined) return undelivered
      if (end.status >= 500) context.counters.count(attempt.project, 'refused', 'handler_failed')
      // The page asks: an error of a proxy would say nothing of it.
      if (end.status >= 400) held.amend((res) => res.setHeader(PAYMENT_CHARGED, 'none'))
      held.send()
      return { kind: 'over' }
    case 'aborted':
      return { kind: 'over' }
    case 'no_room':
      return { kind: 'server_busy' }
    case 'stopped':
      return { kind: 'shutting_down' }
    case 'too_large':
      if (held.clientGone) return { kind: 'over' }
      return refuseTooLarge(attempt.res, held, limits)
  }
}

/**
 * Responds that the handler's response is too large.
 *
 * @throws `ConfigError` once that was sent or the client has disconnected, for the app's error
 * handlers to log.
 */
async function refuseTooLarge(
  res: Response,
  held: HeldResponse,
  { maxHeldBytes }: HeldLimits,
): Promise<never> {
  const remedy = `The answer is larger than ${maxHeldBytes} bytes and was not charged for: raise maxHeldBytes, or stream with paymentFlow: 'upfront'.`
  const closed = new Promise<void>((resolve) => {
    res.once('finish', resolve)
    onceClosed(res, resolve)
  })
  held.replace(() => respondExit(res, { kind: 'too_large' }))
  await closed
  throw new ConfigError('maxHeldBytes', remedy, 'out_of_range')
}
