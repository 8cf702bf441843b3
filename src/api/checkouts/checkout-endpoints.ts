/** Endpoints for a shop's UCP profile and checkouts. */
import { z } from 'zod'
import { parseFiatAmount } from '../../shared/money/requested-amount.js'
import { sponsoringExtensions } from '../../shared/protocol/permit-sponsoring.js'
import { paymentIdentifierExtensions } from '../../shared/protocol/payment-identifier.js'
import { X402_VERSION } from '../../shared/protocol/payment.js'
import { ENVELOPE } from '../../shared/protocol/strict-document.js'
import { checkoutEntry, handlerDescriptor } from './ucp/handler.js'
import { absoluteUrl } from '../serve/absolute-url.js'
import { merchantOf } from '../serve/authenticate.js'
import { offerSubjectOf, withReference } from '../payments/checkout-reference.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint } from '../serve/define-endpoint.js'
import type { Call, Endpoint, RequestBody } from '../serve/define-endpoint.js'
import { docsUrlOf } from '../serve/docs-url.js'
import { quoteFiat } from '../payments/quote-fiat.js'
import { referenceMember } from '../payments/submission.js'
import { WITH_CHAIN, WITH_RATE } from '../serve/usual-problems.js'
import { lazyDocuments } from '../serve/lazy-documents.js'

const documents = lazyDocuments(() => import('../documents/checkout.js'))

/** Members of a body that say what something costs; {@link fiatPrice} reads them. */
export const fiatMembers = {
  amount: z
    .unknown()
    .optional()
    .meta({
      description:
        'Price as a decimal string in major units, greater than zero, with at most as many decimals as the currency has.',
      as: { type: 'string', pattern: String.raw`^[0-9]+(\.[0-9]+)?$` },
      isRequired: true,
      examples: ['15.00'],
    }),
  currency: z
    .unknown()
    .optional()
    .meta({
      description: 'Currency of the price (ISO 4217).',
      as: { type: 'string', pattern: '^[A-Z]{3}$' },
      isRequired: true,
      examples: ['USD'],
    }),
}

/** Reads the price of a body. Amount and currency are read together: the currency decides which amounts are valid. */
export const fiatPrice = z.unknown().transform((body, context) => {
  if (typeof body !== 'object' || body === null) return z.NEVER
  const { amount, currency } = body as { amount?: unknown; currency?: unknown }
  const fiat = parseFiatAmount(amount, currency)
  if (fiat.ok) return { price: { ...fiat, path: 'amount' } }
  context.addIssue({ code: 'custom', path: [fiat.path], message: fiat.message })
  return z.NEVER
})

const checkoutSchema = z.intersection(
  z.looseObject({
    ...fiatMembers,
    resource: z
      .looseObject({
        url: absoluteUrl.meta({
          description: 'Its absolute URL. It is echoed unchanged.',
          examples: ['https://shop.example/checkout/1'],
        }),
        description: z
          .string()
          .nullish()
          .meta({ description: 'What it is, for people.', examples: ['Two books'] }),
      })
      .meta({ description: 'What is bought.' }),
    reference: referenceMember,
  }),
  fiatPrice,
)

export const checkoutBody = {
  schema: checkoutSchema,
  tolerates: ENVELOPE,
  example: {
    amount: '15.00',
    currency: 'USD',
    resource: { url: 'https://shop.example/checkout/1', description: 'Two books' },
  },
} satisfies RequestBody

/** Writes the handler's entry for a profile; the project must have a merchant. */
export function describeHandler(context: RouterContext, { res }: Pick<Call, 'res'>) {
  merchantOf(res)
  const { handlerId: id } = context
  return handlerDescriptor({ id, docsUrl: docsUrlOf(context, res) })
}

export const profileBlock = (context: RouterContext, call: Pick<Call, 'res'>) => ({
  [context.handlerId]: [describeHandler(context, call)],
})

/** Turns the price of a checkout into the x402 envelope for the buyer's wallet. */
export async function prepareCheckout(
  context: RouterContext,
  { res, readBody }: Pick<Call<unknown, z.output<typeof checkoutSchema>>, 'res' | 'readBody'>,
) {
  const { quotes } = context
  const merchant = merchantOf(res)
  const { price, resource, reference } = readBody()
  const quoted = await quoteFiat(context, merchant, price)
  context.counters.count(merchant.project, 'asked')
  const { url, description } = resource
  const accepts = await Promise.all(
    quoted.map(async (entry) => {
      // Shops compare entries deeply between calls: the same checkout must get the same id.
      const offerId = await quotes.nameOffer(offerSubjectOf(merchant, { url, entry }))
      const named = { ...entry, extra: { ...entry.extra, offerId } }
      return typeof reference === 'string'
        ? withReference(quotes, merchant, { entry: named, reference })
        : named
    }),
  )
  return {
    x402Version: X402_VERSION,
    resource: { url, ...(typeof description === 'string' && { description }) },
    accepts,
    extensions: { ...paymentIdentifierExtensions, ...sponsoringExtensions(accepts) },
  }
}

export async function checkoutBlock(
  context: RouterContext,
  call: Parameters<typeof prepareCheckout>[1],
) {
  const { handlerId: id } = context
  return { [id]: [checkoutEntry(id, await prepareCheckout(context, call))] }
}

const common = { tag: 'Merchant', access: 'merchant', scope: 'settle' } as const

export const checkoutEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    ...common,
    method: 'GET',
    path: '/api/v2/merchant/payment-profile',
    id: 'getPaymentProfile',
    summary: 'Get the payment handler for a UCP profile',
    description:
      'The `payment_handlers` block that a business puts into its UCP discovery profile, so that agents find how it can be paid.',
    ignoresQuery: true,
    responses: { 200: { description: 'The block.', document: documents('paymentProfile') } },
    handle: profileBlock,
  }),
  defineEndpoint({
    ...common,
    method: 'POST',
    path: '/api/v2/merchant/checkout-prepare',
    id: 'prepareCheckout',
    summary: 'Turn a fiat price into the payment handler of a checkout',
    description:
      'One entry of `accepts` for each token and network that the merchant takes. The same checkout gets the same entries while rates do not change: shops compare them.',
    body: checkoutBody,
    responses: { 200: { description: 'The block.', document: documents('checkoutPrepared') } },
    problems: [...WITH_RATE, ...WITH_CHAIN],
    handle: checkoutBlock,
  }),
]
