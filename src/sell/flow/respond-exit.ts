import type { Response } from 'express'
import { retryAfterOf } from '../../shared/errors.js'
import { failureWords } from '../../shared/http/failure-words.js'
import { SHUTTING_DOWN, type Problem } from '../../shared/http/respond-problem.js'
import { respondRouteProblem, setReceipt } from '../respond/respond.js'
import { respondAgain } from '../respond/stored-response.js'
import { askForPayment } from '../route/payment-required.js'
import type { Exit } from './exits.js'
import { respondRateLimited } from './payment-rate-limit.js'

/** Writes the response of a request that ends without its handler's. */
export function respondExit(res: Response, exit: Exit): void {
  switch (exit.kind) {
    case 'over':
      return
    case 'payment_required':
      return askForPayment(res, exit.offer, exit)
    case 'not_settled': {
      const { offer, settlement } = exit
      setReceipt(res, exit.receipt)
      const { errorReason: error, errorMessage: message } = settlement
      return askForPayment(res, offer, { error, message })
    }
    case 'settlement_pending':
      setReceipt(res, exit.receipt)
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

/** A pause is ended by hand: nobody should ask every few seconds. */
const PAUSED_RETRY_SECONDS = 60

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
