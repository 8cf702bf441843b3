import type { Response } from 'express'
import { respondRouteProblem, setReceipt } from '../respond/respond.js'
import { respondAgain } from '../respond/stored-response.js'
import { askForPayment } from '../route/payment-required.js'
import { problemOf } from './exit-problems.js'
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
      return respondRouteProblem(res, problemOf(exit))
    case 'repeated':
      return respondAgain(res, exit.stored)
    case 'rate_limited':
      return respondRateLimited(res, exit)
    case 'undelivered':
      // Without the handler's headers: they describe what is for sale, and a cookie may be it.
      if (exit.location !== undefined) res.setHeader('Location', exit.location)
      return void res.status(exit.status).set('Cache-Control', 'no-store').end()
    case 'too_large':
      // The connection is closed, so that the handler's reads and writes end with it.
      res.set('Connection', 'close')
      return respondRouteProblem(res, problemOf(exit))
    default:
      return respondRouteProblem(res, problemOf(exit))
  }
}
