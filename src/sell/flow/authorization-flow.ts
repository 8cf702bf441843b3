import { ConfigError, LedgerError, isOutsideFailure } from '../../shared/errors.js'
import { onceClosed } from '../../shared/http/once-closed.js'
import type { Counters } from '../../ledger/counters.js'
import type { Logger } from '../../shared/logger.js'
import { onAbort } from '../../shared/http/on-abort.js'
import type { OpenRequests } from '../../shared/http/open-requests.js'
import { keepPrivate } from '../respond/cache-control.js'
import { removeConditions } from '../respond/conditional-requests.js'
import { attachPayment, type Exchange } from './exchange.js'
import { outsideFailure, type Exit } from './exits.js'
import type { HeldLimits } from '../hold/held-body.js'
import type { HeldBudget } from '../hold/held-budget.js'
import { HeldResponse, type HeldEnd } from '../hold/held-response.js'
import { PAYMENT_CHARGED } from '../../shared/protocol/headers.js'
import { requestFields } from '../respond/log-fields.js'
import { deliver, give, receiptFor, releaseUnpaid, reopen } from './payment-attempt.js'
import { settle, undeliver } from './payment-attempt.js'
import type { Delivered, Delivery, Reserved } from './payment-attempt.js'
import { nameOfRoute } from '../route/route-warnings.js'
import { refuseCharge, type Meter } from '../route/up-to-charge.js'
import { respondExit } from './respond-exit.js'
import { setReceipt } from '../respond/respond.js'
import { serializeResponse, serializeUnpaid } from '../respond/stored-response.js'
import { readUndelivered, type RedirectContext, type Undelivered } from '../respond/undelivered.js'
import { openWaiver, whyFree, type WaivedCounter, type Waiver } from './waiver.js'
import { watchForStream } from '../hold/watch-for-stream.js'

/** Dependencies of {@link holdAnswer}. */
export interface AuthorizationFlowContext extends RedirectContext {
  readonly heldBudget: HeldBudget
  readonly counters: Counters
  readonly waived: WaivedCounter
  readonly logger: Logger
  /** The requests that are waited for when the gateway closes. */
  readonly requests: OpenRequests
}

/**
 * The `authorization` flow: runs the handler and holds its response, settles the payment, and then
 * sends the response. A free response is sent, or replaced, without settling.
 */
export function holdAnswer(context: AuthorizationFlowContext, exchange: Exchange): Delivery {
  return {
    get isFull() {
      return context.heldBudget.isFull
    },
    async run(reserved) {
      const { payer } = reserved.reservation
      const { maxHeldBytes } = reserved.route
      const lease = context.heldBudget.open({ payer, maxHeldBytes })
      if (lease === undefined) {
        await releaseUnpaid(context, reserved)
        return { kind: 'server_busy' }
      }
      try {
        const limits = { maxHeldBytes, lease }
        await runHeld(context, await hold(context, reserved, { exchange, limits }))
        return { kind: 'over' }
      } finally {
        lease.release()
      }
    },
  }
}

interface Holding {
  readonly exchange: Exchange
  readonly limits: HeldLimits
}

interface HeldAttempt extends Reserved, Holding {
  readonly held: HeldResponse
  readonly meter: Meter | undefined
  readonly waiver: Waiver
}

/** Starts to hold the response of the handler that is about to run. */
async function hold(
  context: AuthorizationFlowContext,
  attempt: Reserved,
  { exchange, limits }: Holding,
): Promise<HeldAttempt> {
  const { req, res } = exchange
  const waiver = openWaiver(res)
  try {
    const meter = attempt.route.prices.openMeter(res, attempt.payment)
    const { payer } = attempt.reservation
    const charge = meter?.charge ?? refuseCharge
    attachPayment(exchange, attempt, { payer, waive: waiver.waive, charge })
    removeConditions(req)
    const held = new HeldResponse(res, limits)
    return { ...attempt, exchange, limits, held, meter, waiver }
  } catch (error) {
    await releaseUnpaid(context, attempt)
    throw error
  }
}

/** Runs the handler, and writes the end of its held response. */
async function runHeld(context: AuthorizationFlowContext, attempt: HeldAttempt): Promise<void> {
  const { held, meter, exchange } = attempt
  const { view, res, next } = exchange
  const { warnings } = attempt.route
  if (!warnings.has('stream'))
    watchForStream(res, () => warnings.warnOfStream(view, { isMetered: meter !== undefined }))
  const remove = onAbort(context.requests.cutOff, () => held.stop())
  try {
    // If its client is gone already, it has ended as aborted.
    if (!held.clientGone) next()
    const end = await held.finished
    const undelivered =
      end.kind === 'ended' ? readUndelivered(context, exchange, end.status) : undefined
    const exit = (await isCharged(context, attempt, { end, undelivered }))
      ? await settleThenSend(context, attempt)
      : await endUncharged(context, attempt, { end, undelivered })
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

interface EndedResponse {
  readonly end: HeldEnd
  /** Of a response that delivers nothing: what is sent in its place. */
  readonly undelivered: Undelivered | undefined
}

const WRONG_LENGTH =
  'is not the length of the answer, which was not charged for: count bytes with Buffer.byteLength(), or leave it to res.send()'

/**
 * Whether a response is charged for: only a complete one that its client is there to receive, and that delivers
 * something. If the app fails to tell, its payment is released.
 */
async function isCharged(
  context: AuthorizationFlowContext,
  attempt: HeldAttempt,
  { end, undelivered }: EndedResponse,
): Promise<boolean> {
  const { held, waiver, exchange, route } = attempt
  if (end.kind !== 'ended' || held.clientGone || end.status >= 400 || undelivered) return false
  try {
    if (!held.fitsLength) throw new ConfigError('Content-Length', WRONG_LENGTH, 'invalid_value')
    const reason = whyFree({ held, res: exchange.res, waiver, chargeIf: route.chargeIf })
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

async function settleThenSend(
  context: AuthorizationFlowContext,
  attempt: HeldAttempt,
): Promise<Exit> {
  const { held, meter, keys, exchange } = attempt
  const charge = meter?.close()
  const serialize = () => serializeUnpaid(held.response(), charge)
  if (charge !== undefined) await keepCharged(context, attempt, serialize())
  const settled = await settle(attempt, { charge, serialize })
  if (settled.kind !== 'settled') return settled
  held.amend(() => {
    setReceipt(exchange.res, receiptFor(settled))
    keepPrivate(exchange.res)
  })
  const response = keys.id.hasKey ? held.response() : undefined
  const isRepeatable = response?.body !== undefined
  // Nobody has received the response: the payer may ask once more, by id or with the same payment.
  if (held.clientGone && !isRepeatable) return reopen(settled)
  const stored = response && serializeResponse(response, settled.receipt)
  const delivered = await deliver(settled, stored)
  if (!held.clientGone) await send(delivered, attempt)
  else if (!isRepeatable) return undeliver(delivered)
  give(delivered, stored)
  return { kind: 'over' }
}

/**
 * Keeps a response until it goes out: what its handler charges when it runs again may be more, and the
 * payment is charged once.
 *
 * @throws `LedgerError` if it could not be kept: then nothing is charged.
 */
export async function keepCharged(
  context: Pick<AuthorizationFlowContext, 'logger'>,
  attempt: Reserved,
  answer: string | undefined,
): Promise<void> {
  if (answer === undefined || (await attempt.keys.charge.keep({ answer }))) return
  await releaseUnpaid(context, attempt)
  throw new LedgerError(
    'ledger_unavailable',
    'The answer could not be kept until it is paid for; nothing was charged.',
  )
}

/** Sends a held response. If it cannot be sent, its payment is good once more. */
async function send(delivered: Delivered, { held, exchange }: HeldAttempt): Promise<void> {
  try {
    held.send()
  } catch (error) {
    if (!exchange.res.headersSent) await undeliver(delivered)
    throw error
  }
}

/** Releases the payment, and ends a response that is not charged for. */
async function endUncharged(
  context: AuthorizationFlowContext,
  attempt: HeldAttempt,
  { end, undelivered }: EndedResponse,
): Promise<Exit> {
  const { held, exchange, limits } = attempt
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
      return refuseTooLarge(exchange, held, limits)
  }
}

/**
 * Responds that the handler's response is too large.
 *
 * @throws `ConfigError` once that was sent or the client has disconnected, for the app's error
 * handlers to log.
 */
async function refuseTooLarge(
  { res, view }: Exchange,
  held: HeldResponse,
  { maxHeldBytes }: HeldLimits,
): Promise<never> {
  const remedy = `The answer of ${nameOfRoute(view)} is larger than ${maxHeldBytes} bytes and was not charged for: raise maxHeldBytes, or stream with paymentFlow: 'upfront'.`
  const closed = new Promise<void>((resolve) => {
    res.once('finish', resolve)
    onceClosed(res, resolve)
  })
  held.replace(() => respondExit(res, { kind: 'too_large' }))
  await closed
  throw new ConfigError('maxHeldBytes', remedy, 'out_of_range')
}
