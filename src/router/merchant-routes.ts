import express, { type Request, type Response, type Router } from 'express'
import { z } from 'zod'
import { parseFiatAmount } from '../money/requested-amount.js'
import { X402_VERSION } from '../protocol/payment.js'
import { parseStrictDocument } from '../protocol/strict-document.js'
import { CHECKOUT_MEMBERS } from '../protocol/tolerated-members.js'
import { checkoutEntry, handlerDescriptor } from '../ucp/handler.js'
import { absoluteUrl } from './absolute-url.js'
import { respondJson } from '../http/respond-json.js'
import { merchantOf } from './authenticate.js'
import { docsUrlOf } from './docs-url.js'
import { jsonBody, readBody } from './json-body.js'
import { takesNoQuery } from './read-query.js'
import { quoteFiat, type QuoteContext } from './quote-fiat.js'

/** What the merchant endpoints need from the gateway. */
export interface MerchantRoutesContext extends QuoteContext {
  readonly handlerId: string
}

const checkoutSchema = z.intersection(
  z.looseObject({
    resource: z.looseObject({ url: absoluteUrl, description: z.string().nullish() }),
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
export function merchantRoutes(context: MerchantRoutesContext): Router {
  const { handlerId } = context
  const router = express.Router()

  router.get(
    '/payment-profile',
    respondJson((_req, res) => {
      merchantOf(res)
      return { [handlerId]: [handlerDescriptor({ id: handlerId, docsUrl: docsUrlOf(res) })] }
    }),
  )
  router.post(
    '/checkout-prepare',
    takesNoQuery,
    jsonBody,
    respondJson(async (req, res) => {
      const config = await prepareCheckout(context, req, res)
      return { [handlerId]: [checkoutEntry(handlerId, config)] }
    }),
  )
  return router
}

/** Makes the x402 envelope of one checkout. */
async function prepareCheckout(
  context: MerchantRoutesContext,
  req: Request,
  res: Response,
): Promise<object> {
  const merchant = merchantOf(res)
  const { price, resource } = readBody(req, parseCheckout)
  const quoted = await quoteFiat(context, merchant, price)
  const { url, description } = resource
  const accepts = await Promise.all(
    quoted.map(async (entry) => {
      // Shops compare entries deeply between calls: the same checkout must get the same id.
      const request = ['project', merchant.project, 'resource', url]
      const offerId = await context.quotes.nameOffer({ request, entry })
      return { ...entry, extra: { ...entry.extra, offerId } }
    }),
  )
  return {
    x402Version: X402_VERSION,
    resource: { url, ...(typeof description === 'string' && { description }) },
    accepts,
  }
}
