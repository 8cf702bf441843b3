import type { Response } from 'express'
import { retryAfterOf, type OutsideFailure } from '../../shared/errors.js'
import { failureWords } from '../../shared/http/failure-words.js'
import { SHUTTING_DOWN, type Problem } from '../../shared/http/respond-problem.js'
import type { Logger } from '../../shared/logger.js'
import type { SettleResponse } from '../../shared/protocol/payment.js'
import { requestFields, type LoggedRequest } from '../respond/log-fields.js'
import type { Offer } from '../route/offer.js'
import { respondRateLimited, type ExceededLimit } from './payment-rate-limit.js'
import { askForPayment, type AskingStatus } from '../route/payment-required.js'
import { respondRouteProblem, setPaymentResponse } from '../respond/respond.js'
import { respondAgain } from '../respond/stored-response.js'
import type { Undelivered } from '../respond/undelivered.js'

/** What became of a payment that was not settled, or is not known to be. */
export type Unsettled = Extract<SettleResponse, { success: false }>

/** Every way in which a paid request ends. */
export type Exit =
  /** Nothing is left to write: the handler's response goes out, or the client has disconnected. */
  | { readonly kind: 'over' }
  /** No payment was presented, or one that is refused. `error` is a reason, or text. */
  | {
      readonly kind: 'payment_required'
      readonly offer: Offer
      readonly error: string
      /** A reason in words, where more is known than what it always means. */
      readonly message?: string | undefined
      /** 400 if the payment header is unreadable. @defaultValue 402 */
      readonly status?: AskingStatus | undefined
    }
  /** The settlement failed, or the payment was settled before. */
  | { readonly kind: 'not_settled'; readonly offer: Offer; readonly settlement: Unsettled }
  /** A transaction was written down, and its outcome is unknown; the node may not take it yet. */
  | { readonly kind: 'settlement_pending'; readonly settlement: Unsettled }
  /** The response to the first request with this payment is given again. */
  | { readonly kind: 'repeated'; readonly stored: string }
  /** The first request with this payment still runs. */
  | { readonly kind: 'busy' }
  /** Another payment has this payment's id. */
  | { readonly kind: 'conflict' }
  /** Too many requests from this address or payer. */
  | ExceededLimit
  /** There is no memory left to hold another response. */
  | { readonly kind: 'server_busy' }
  /** The gateway is closing. */
  | { readonly kind: 'shutting_down' }
  /** The merchant takes nothing new for now. */
  | { readonly kind: 'merchant_paused' }
  /** The handler answered a condition or a range, or led to another paid route, which costs nothing. */
  | Undelivered
  /** The handler's response is larger than what may be held. */
  | { readonly kind: 'too_large' }
  /** A chain, a rate, the ledger or a relayer failed. */
  | { readonly kind: 'outside_failure'; readonly failure: OutsideFailure }

/** Writes the response of a request that ends without its handler's. */
export function respondExit(res: Response, exit: Exit): void {
  switch (exit.kind) {
    case 'over':
      return
    case 'payment_required':
      return askForPayment(res, exit.offer, exit)
    case 'not_settled': {
      const { offer, settlement } = exit
      setPaymentResponse(res, settlement)
      const { errorReason: error, errorMessage: message } = settlement
      return askForPayment(res, offer, { error, message })
    }
    case 'settlement_pending':
      setPaymentResponse(res, exit.settlement)
      return respondRouteProblem(res, PROBLEMS.settlement_pending)
    case 'repeated':
      return respondAgain(res, exit.stored)
    case 'busy':
    case 'conflict':
    case 'server_busy':
    case 'shutting_down':
    case 'merchant_paused':
      return respondRouteProblem(res, PROBLEMS[exit.kind])
    case 'rate_limited':
      return respondRateLimited(res, exit)
    case 'undelivered':
      // Without the handler's headers: they describe what is for sale, and a cookie may be it.
      if (exit.location !== undefined) res.setHeader('Location', exit.location)
      return void res.status(exit.status).set('Cache-Control', 'no-store').end()
    case 'too_large':
      // The connection is closed, so that the handler's reads and writes end with it.
      res.set('Connection', 'close')
      return respondRouteProblem(res, PROBLEMS.too_large)
    case 'outside_failure': {
      const { failure } = exit
      const detail = failureWords(failure, 'route')
      const retryAfterSeconds = retryAfterOf(failure)
      return respondRouteProblem(res, { code: failure.code, detail, retryAfterSeconds })
    }
  }
}

/** Logs a failure of the world outside. @returns Its exit. */
export function outsideFailure(
  { logger }: { readonly logger: Logger },
  failure: OutsideFailure,
  logged: LoggedRequest,
): Exit {
  const fields = { code: failure.code, ...requestFields(logged) }
  logger.error(`A payment could not be taken: ${failure.message}`, { ...fields, error: failure })
  return { kind: 'outside_failure', failure }
}

/** A pause is ended by hand: nobody should ask every few seconds. */
const PAUSED_RETRY_SECONDS = 60

/** The problems that need no details of their own. */
const PROBLEMS = {
  settlement_pending: {
    code: 'settlement_pending',
    detail:
      'The payment was accepted, and is not known to be mined yet. It is sent until it is mined or its authorization lapses. Present the same payment again; do not sign another.',
  },
  busy: {
    code: 'idempotency_in_progress',
    detail: 'The first request with this payment is not answered yet: present it again later.',
  },
  conflict: {
    code: 'idempotency_conflict',
    detail: 'Another payment has this payment-identifier: take a new id for a new payment.',
  },
  server_busy: {
    code: 'server_busy',
    detail:
      'Too many answers wait for their payments at this moment; nothing was charged. Present the same payment again later.',
  },
  too_large: {
    code: 'answer_too_large',
    detail:
      'The answer is too large for the seller to hold until it is paid; nothing was charged. Only the seller can change that.',
  },
  shutting_down: SHUTTING_DOWN,
  merchant_paused: {
    code: 'merchant_paused',
    detail: 'The seller takes no payments for now; nothing was charged. Try again later.',
    retryAfterSeconds: PAUSED_RETRY_SECONDS,
  },
} as const satisfies { readonly [Kind in Exit['kind']]?: Problem }
