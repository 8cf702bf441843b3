import express, { type Router } from 'express'
import { z } from 'zod'
import { parseFiatAmount } from '../money/requested-amount.js'
import { X402_VERSION } from '../protocol/payment.js'
import { parseStrictDocument, CHECKOUT_MEMBERS } from '../protocol/strict-document.js'
import { checkoutEntry, handlerDescriptor } from '../ucp/handler.js'
import { isReference, NOT_A_REFERENCE } from '../ledger/payment-details.js'
import { absoluteUrl } from './absolute-url.js'
import { withReference } from './checkout-reference.js'
import { respondJson } from '../http/respond-json.js'
import { merchantOf } from './authenticate.js'
import type { Endpoint, RouterContext } from './context.js'
import { docsUrlOf } from './docs-url.js'
import { jsonBody, readBody } from './json-body.js'
import { takesNoQuery } from './read-query.js'
import { quoteFiat } from './quote-fiat.js'

/** Reads the body of `POST …/checkout-prepare`. */
export const checkoutSchema = z.intersection(
  z.looseObject({
    resource: z.looseObject({ url: absoluteUrl, description: z.string().nullish() }),
    reference: z.custom<string>(isReference, NOT_A_REFERENCE).nullish(),
  }),
  // Parsed together, because the currency decides which amounts are valid.
  z.unknown().transform((body, context) => {
    if (typeof body !== 'object' || body === null) return z.NEVER
    const { amount, currency } = body as { amount?: unknown; currency?: unknown }
    const fiat = parseFiatAmount(amount, currency)
    if (fiat.ok) return { price: { ...fiat, path: 'amount' } }
    context.addIssue({ code: 'custom', path: [fiat.path], message: fiat.message })
    return z.NEVER
  }),
)

const parseCheckout = (body: unknown) => parseStrictDocument(checkoutSchema, body, CHECKOUT_MEMBERS)

/** `/api/v2/merchant/*`: what a shop publishes in its UCP profile and checkouts. */
export function merchantRoutes(context: RouterContext): Router {
  const router = express.Router()
  router.get('/payment-profile', respondJson(context, describeHandler))
  router.post('/checkout-prepare', takesNoQuery, jsonBody, respondJson(context, prepareCheckout))
  return router
}

const describeHandler: Endpoint = ({ handlerId: id }, _req, res) => {
  merchantOf(res)
  return { [id]: [handlerDescriptor({ id, docsUrl: docsUrlOf(res) })] }
}

const prepareCheckout: Endpoint = async (context, req, res) => {
  const { handlerId, quotes } = context
  const merchant = merchantOf(res)
  const { price, resource, reference } = readBody(req, parseCheckout)
  const quoted = await quoteFiat(context, merchant, price)
  context.counters.count(merchant.project, 'asked')
  const { url, description } = resource
  const accepts = await Promise.all(
    quoted.map(async (entry) => {
      // Shops compare entries deeply between calls: the same checkout must get the same id.
      const request = ['project', merchant.project, 'resource', url]
      const offerId = await quotes.nameOffer({ request, entry })
      const named = { ...entry, extra: { ...entry.extra, offerId } }
      return typeof reference === 'string'
        ? withReference(quotes, merchant, { entry: named, reference })
        : named
    }),
  )
  const config = {
    x402Version: X402_VERSION,
    resource: { url, ...(typeof description === 'string' && { description }) },
    accepts,
  }
  return { [handlerId]: [checkoutEntry(handlerId, config)] }
}
