/** `/api/v2/payment/*`: the facilitator's endpoints. */
import { z } from 'zod'
import { explainCurrency, isCurrency } from '../../shared/money/currency.js'
import { requestedAmountToDecimal, withoutFloatNoise } from '../../shared/money/requested-amount.js'
import { sameNetwork } from '../../shared/protocol/networks.js'
import { newOfferId, withOfferId } from '../../shared/protocol/offer-id.js'
import { PAYMENT_IDENTIFIER } from '../../shared/protocol/payment-identifier.js'
import { BAZAAR, withProtocolVersion, X402_VERSION } from '../../shared/protocol/payment.js'
import { sponsoringExtensions } from '../../shared/protocol/permit-sponsoring.js'
import { ENVELOPE } from '../../shared/protocol/strict-document.js'
import { absoluteUrl } from '../serve/absolute-url.js'
import { merchantOf } from '../serve/authenticate.js'
import { defineEndpoint, type Endpoint, type RequestBody } from '../serve/define-endpoint.js'
import { quoteFiat } from './quote-fiat.js'
import { isOutsideFailure } from '../../shared/errors.js'
import { settlePayment } from './settle-payment.js'
import { submissionBody } from './submission.js'
import { WITH_CHAIN, WITH_RATE, WITH_TRANSACTION } from '../serve/usual-problems.js'
import { kindsInVersion1 } from '../../shared/protocol/version-1.js'
import { verifyPayment } from './verify-payment.js'
import { lazyDocuments } from '../serve/lazy-documents.js'

const documents = lazyDocuments(() => import('../documents/payment.js'))

const amountSchema = z
  .unknown()
  .transform((value, context) => {
    const requested = requestedAmountToDecimal(value)
    if (requested.ok) return requested.amount
    context.addIssue(requested.message)
    return z.NEVER
  })
  .meta({
    description: 'Price in major units (0.25 is a quarter), greater than zero.',
    as: { type: 'number', exclusiveMinimum: 0 },
    examples: [0.25],
  })

const currencySchema = z
  .unknown()
  .optional()
  .transform((value, context) => {
    if (value === undefined || value === null || isCurrency(value)) return value ?? undefined
    context.addIssue(explainCurrency(value))
    return z.NEVER
  })
  .meta({
    description: 'Currency of the price (ISO 4217). Default: the merchant’s.',
    as: { type: ['string', 'null'], pattern: '^[A-Z]{3}$' },
    examples: ['EUR'],
  })

const requirementsBody = {
  schema: z.object({
    resourceUrl: absoluteUrl.meta({
      description: 'Absolute URL of what is sold. It is echoed unchanged.',
      examples: ['https://shop.example/report/7'],
    }),
    requestedAmount: amountSchema,
    currency: currencySchema,
    description: z
      .string()
      .nullish()
      .meta({ description: 'What is sold, for people.', examples: ['A weather report'] }),
    mimeType: z
      .string()
      .nullish()
      .meta({ description: 'Its media type.', examples: ['application/json'] }),
  }),
  tolerates: ENVELOPE,
  example: {
    resourceUrl: 'https://shop.example/report/7',
    requestedAmount: 0.01,
    description: 'A weather report',
  },
} satisfies RequestBody

const common = { tag: 'Payments', access: 'project', scope: 'settle' } as const

export const paymentEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    ...common,
    method: 'POST',
    path: '/api/v2/payment/requirements',
    id: 'getPaymentRequirements',
    summary: 'Make an offer for a resource',
    description:
      'Turns a price into what a payer is offered: one entry of `accepts` for each token and network that the merchant takes, with the amount in the token’s smallest unit, rounded up. Unknown members are refused, so that a misspelled `currency` cannot change the price.',
    body: requirementsBody,
    responses: { 200: { description: 'The offer.', document: documents('paymentRequired') } },
    problems: [...WITH_RATE, ...WITH_CHAIN],
    async handle(context, { res, readBody }) {
      const merchant = merchantOf(res)
      const { resourceUrl, requestedAmount, currency, description, mimeType } = readBody()
      const pricedIn = currency ?? merchant.currency
      const accepts = await quoteFiat(context, merchant, {
        amount: withoutFloatNoise(requestedAmount, pricedIn),
        currency: pricedIn,
        path: 'requestedAmount',
      })
      context.counters.count(merchant.project, 'asked')
      const extensions = sponsoringExtensions(accepts)
      return {
        x402Version: X402_VERSION,
        resource: {
          url: resourceUrl,
          description: description ?? '',
          ...(typeof mimeType === 'string' && { mimeType }),
        },
        accepts: withProtocolVersion(withOfferId(accepts, newOfferId())),
        ...(Object.keys(extensions).length > 0 && { extensions }),
        protocolVersion: X402_VERSION,
      }
    },
  }),
  defineEndpoint({
    ...common,
    method: 'POST',
    path: '/api/v2/payment/verify',
    id: 'verifyPayment',
    summary: 'Verify a payment without settling it',
    description:
      'Checks shape, terms, time window, signature, balance and nonce, and simulates the transfer. Nothing is sent and nothing is reserved. A refused payment has status 200 as well: see `isValid`. With an `Idempotency-Key`, final answers are repeated.',
    headers: ['Idempotency-Key'],
    ignoresQuery: true,
    body: submissionBody,
    responses: {
      200: { description: 'Valid, or refused.', document: documents('verifyResponse') },
    },
    problems: [
      // Another payment has the `payment-identifier`.
      {
        code: 'idempotency_conflict',
        variant: 'verify',
        members: documents('verifyRefusalMembers'),
      },
      ...WITH_TRANSACTION,
      'hook_failed',
    ],
    async handle(context, call) {
      const verified = await verifyPayment(context, call)
      if (verified.isValid) return verified
      // Medusa and the Prism SDK show this member to people.
      return { ...verified, error: verified.invalidMessage ?? verified.invalidReason }
    },
  }),
  defineEndpoint({
    ...common,
    method: 'POST',
    path: '/api/v2/payment/settle',
    id: 'settlePayment',
    summary: 'Settle a payment on chain',
    description:
      'Verifies the payment, has a relayer send it (ERC-3009 `transferWithAuthorization`, or the call of Permit2’s spender), and waits for the transaction up to 25 s. The gateway pays the gas. A payment that is refused, was settled before or is still pending has status 200: see `success` and `errorReason`. One that failed on chain is a 502 `transaction_failed`. An authorization is settled once, whatever is repeated; with an `Idempotency-Key`, a repeated request gets the first answer.',
    headers: ['Idempotency-Key'],
    ignoresQuery: true,
    body: submissionBody,
    responses: {
      200: { description: 'Paid, refused or pending.', document: documents('settleResponse') },
    },
    problems: [
      // Another payment has the `payment-identifier`.
      {
        code: 'idempotency_conflict',
        variant: 'settle',
        members: documents('settleRefusalMembers'),
      },
      // The members of the SettleResponse are there as well.
      { code: 'transaction_failed', variant: 'settle', members: documents('settleRefusalMembers') },
      ...WITH_TRANSACTION,
      'hook_failed',
    ],
    handle: (context, call) =>
      settlePayment(context, call).catch((error: unknown) => {
        if (isOutsideFailure(error)) context.noteFailure?.(error)
        throw error
      }),
  }),
  defineEndpoint({
    ...common,
    method: 'GET',
    path: '/api/v2/payment/supported',
    id: 'listSupported',
    summary: 'List what this facilitator supports',
    description:
      'Schemes and networks on which the merchant takes payments, extensions, and the addresses that send the transactions. x402 clients and servers ask for it at start.',
    ignoresQuery: true,
    responses: {
      200: { description: 'What is supported.', document: documents('supportedResponse') },
    },
    problems: WITH_CHAIN,
    async handle({ facilitator }, { res }) {
      const { accepts, v1 } = merchantOf(res)
      const supported = await facilitator.supported()
      const kinds = supported.kinds.filter(({ network }) =>
        accepts.some((asset) => sameNetwork(asset.network.caip2, network)),
      )
      return {
        ...supported,
        kinds: v1 ? [...kinds, ...kindsInVersion1(kinds)] : kinds,
        extensions: [...new Set([...supported.extensions, PAYMENT_IDENTIFIER, BAZAAR])],
      }
    },
  }),
]
