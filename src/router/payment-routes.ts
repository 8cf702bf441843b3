import express, { type Router } from 'express'
import { z } from 'zod'
import { explainCurrency, isCurrency } from '../money/currency.js'
import { requestedAmountToDecimal } from '../money/requested-amount.js'
import { sameNetwork } from '../protocol/networks.js'
import { newOfferId, withOfferId } from '../protocol/offer-id.js'
import { PAYMENT_IDENTIFIER } from '../protocol/payment-identifier.js'
import { withProtocolVersion, X402_VERSION } from '../protocol/payment.js'
import type { PaymentRequired } from '../protocol/payment.js'
import { parseStrictDocument, REQUIREMENTS_MEMBERS } from '../protocol/strict-document.js'
import { respondJson } from '../http/respond-json.js'
import { merchantOf } from './authenticate.js'
import type { Endpoint, RouterContext } from './context.js'
import { jsonBody, readBody } from './json-body.js'
import { absoluteUrl } from './absolute-url.js'
import { takesNoQuery } from './read-query.js'
import { settlePayment } from './settle-payment.js'
import { verifyPayment } from './verify-payment.js'
import { quoteFiat } from './quote-fiat.js'

/** Reads the body of `POST …/requirements`. */
export const requirementsSchema = z.object({
  resourceUrl: absoluteUrl,
  requestedAmount: z.unknown().transform((value, context) => {
    const requested = requestedAmountToDecimal(value)
    if (requested.ok) return requested.amount
    context.addIssue(requested.message)
    return z.NEVER
  }),
  /** @defaultValue the merchant's */
  currency: z
    .unknown()
    .optional()
    .transform((value, context) => {
      if (value === undefined || value === null || isCurrency(value)) return value ?? undefined
      context.addIssue(explainCurrency(value))
      return z.NEVER
    }),
  description: z.string().nullish(),
  mimeType: z.string().nullish(),
})

const parseRequirements = (body: unknown) =>
  parseStrictDocument(requirementsSchema, body, REQUIREMENTS_MEMBERS)

/** `/api/v2/payment/*`: the facilitator's endpoints. */
export function paymentRoutes(context: RouterContext): Router {
  const router = express.Router()
  router.post('/verify', jsonBody, respondJson(context, verifyPayment))
  router.post('/settle', jsonBody, respondJson(context, settlePayment))
  router.post('/requirements', takesNoQuery, jsonBody, respondJson(context, requirePayment))
  router.get('/supported', respondJson(context, listSupported))
  return router
}

const listSupported: Endpoint = async ({ facilitator }, _req, res) => {
  const { accepts } = merchantOf(res)
  const supported = await facilitator.supported()
  return {
    ...supported,
    kinds: supported.kinds.filter(({ network }) =>
      accepts.some((asset) => sameNetwork(asset.network.caip2, network)),
    ),
    extensions: [...new Set([...supported.extensions, PAYMENT_IDENTIFIER])],
  }
}

const requirePayment: Endpoint = async (context, req, res) => {
  const merchant = merchantOf(res)
  const { resourceUrl, requestedAmount, currency, description, mimeType } = readBody(
    req,
    parseRequirements,
  )
  const accepts = await quoteFiat(context, merchant, {
    amount: requestedAmount,
    currency: currency ?? merchant.currency,
    path: 'requestedAmount',
  })
  context.counters.count(merchant.project, 'asked')
  return {
    x402Version: X402_VERSION,
    resource: {
      url: resourceUrl,
      description: description ?? '',
      ...(typeof mimeType === 'string' && { mimeType }),
    },
    accepts: withProtocolVersion(withOfferId(accepts, newOfferId())),
    protocolVersion: X402_VERSION,
  } satisfies PaymentRequired
}
