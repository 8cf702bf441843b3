import express, { type Request, type Response, type Router } from 'express'
import { z } from 'zod'
import { explainCurrency, isCurrency } from '../money/currency.js'
import { requestedAmountToDecimal } from '../money/requested-amount.js'
import { sameNetwork } from '../protocol/networks.js'
import { newOfferId, withOfferId } from '../protocol/offer-id.js'
import { PAYMENT_IDENTIFIER } from '../protocol/payment-identifier.js'
import { withProtocolVersion, X402_VERSION } from '../protocol/payment.js'
import type { PaymentRequired, SupportedResponse } from '../protocol/payment.js'
import { parseStrictDocument } from '../protocol/strict-document.js'
import { REQUIREMENTS_MEMBERS } from '../protocol/tolerated-members.js'
import { respondJson } from '../http/respond-json.js'
import { merchantOf } from './authenticate.js'
import { jsonBody, readBody } from './json-body.js'
import { absoluteUrl } from './absolute-url.js'
import { takesNoQuery } from './read-query.js'
import { settlePayment, type SettlePaymentContext } from './settle-payment.js'
import { verifyPayment, type VerifyPaymentContext } from './verify-payment.js'
import { quoteFiat, type QuoteContext } from './quote-fiat.js'

/** What the facilitator's endpoints need from the gateway. */
export interface PaymentRoutesContext
  extends QuoteContext, SettlePaymentContext, VerifyPaymentContext {}

const requirementsSchema = z.object({
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
export function paymentRoutes(context: PaymentRoutesContext): Router {
  const router = express.Router()

  router.post(
    '/verify',
    jsonBody,
    respondJson((req, res) => verifyPayment(context, req, res)),
  )
  router.post(
    '/settle',
    jsonBody,
    respondJson((req, res) => settlePayment(context, req, res)),
  )
  router.post(
    '/requirements',
    takesNoQuery,
    jsonBody,
    respondJson((req, res) => requirePayment(context, req, res)),
  )
  router.get(
    '/supported',
    respondJson(async (_req, res) => {
      const { accepts } = merchantOf(res)
      const supported = await context.facilitator.supported()
      const isAccepted = ({ network }: SupportedResponse['kinds'][number]): boolean =>
        accepts.some((asset) => sameNetwork(asset.network.caip2, network))
      return {
        ...supported,
        kinds: supported.kinds.filter(isAccepted),
        extensions: [...new Set([...supported.extensions, PAYMENT_IDENTIFIER])],
      }
    }),
  )
  return router
}

async function requirePayment(
  context: PaymentRoutesContext,
  req: Request,
  res: Response,
): Promise<PaymentRequired> {
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
  return {
    x402Version: X402_VERSION,
    resource: {
      url: resourceUrl,
      description: description ?? '',
      ...(typeof mimeType === 'string' && { mimeType }),
    },
    accepts: withProtocolVersion(withOfferId(accepts, newOfferId())),
    protocolVersion: X402_VERSION,
  }
}
