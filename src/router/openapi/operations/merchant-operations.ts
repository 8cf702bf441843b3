/** `/api/v2/merchant`: profile and checkouts, and the list of settlements that operators have as well. */
import { CHECKOUT_MEMBERS, SETTLEMENTS_QUERY } from '../../../protocol/strict-document.js'
import { checkoutSchema } from '../../merchant-routes.js'
import { settlementsSchema } from '../../settlement-query.js'
import { checkoutPrepared, paymentProfile } from '../documents/checkout.js'
import {
  adminSettlement,
  adminSettlementList,
  settlement,
  settlementList,
} from '../documents/settlement.js'
import type { Operations, Parameter, RequestBody } from '../operation.js'
import { OF_MERCHANT, WITH_BODY, WITH_CHAIN, WITH_RATE } from '../problems.js'
import { bodySchema, queryParameters, type Abouts } from '../request-schema.js'
import { commonOf, type Owner } from './owner.js'

const reference = {
  description: 'The shop’s own name for the payment: 1 to 200 visible characters.',
  examples: ['order-7'],
}

const checkoutBody: RequestBody = {
  schema: bodySchema(
    checkoutSchema,
    {
      amount: {
        description:
          'Price as a decimal string in major units, greater than zero, with at most as many decimals as the currency has.',
        schema: { type: 'string', pattern: String.raw`^[0-9]+(\.[0-9]+)?$` },
        required: true,
        examples: ['15.00'],
      },
      currency: {
        description: 'Currency of the price (ISO 4217).',
        schema: { type: 'string', pattern: '^[A-Z]{3}$' },
        required: true,
        examples: ['USD'],
      },
      resource: {
        description: 'What is bought.',
        members: {
          url: {
            description: 'Its absolute URL. It is echoed unchanged.',
            examples: ['https://shop.example/checkout/1'],
          },
          description: { description: 'What it is, for people.', examples: ['Two books'] },
        },
      },
      reference: { ...reference, schema: { type: ['string', 'null'], minLength: 1 } },
    },
    CHECKOUT_MEMBERS,
  ),
  example: {
    amount: '15.00',
    currency: 'USD',
    resource: { url: 'https://shop.example/checkout/1', description: 'Two books' },
  },
}

/** The page of a list: how long it is, and where it begins. */
export const PAGE: Abouts = {
  cursor: { description: '`nextCursor` of the page before.' },
  limit: {
    description: 'Entries on a page, 1 to 100.',
    schema: { type: 'integer', minimum: 1, maximum: 100 },
  },
}

/** A time span of lists. */
export const SPAN: Abouts = {
  from: {
    description: 'Begin: a date (midnight UTC) or a time with its offset.',
    examples: ['2026-01-01'],
  },
  to: { description: 'End, which is not part of it.', examples: ['2026-02-01T00:00:00Z'] },
}

/** The parameters of a list of settlements. */
export const settlementParameters: readonly Parameter[] = queryParameters(
  settlementsSchema,
  {
    ...PAGE,
    limit: {
      description: 'Settlements on a page, 1 to 100. Default: 20.',
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    },
    status: { description: 'Only those in this state.' },
    ...SPAN,
    payer: { description: 'Only those of this payer’s address.' },
    transaction: { description: 'Only those of this transaction.' },
    resource: { description: 'Only those that paid for this URL.' },
    reference: {
      description:
        'Only those with this reference. One of payer, transaction, resource and reference may be given.',
      schema: { type: 'string', minLength: 1 },
      examples: ['order-7'],
    },
  },
  SETTLEMENTS_QUERY,
)

/** The profile and the checkouts of a shop. */
export const merchantOperations: Operations = {
  'GET /api/v2/merchant/payment-profile': {
    id: 'getPaymentProfile',
    tag: 'Merchant',
    access: 'merchant',
    summary: 'Get the payment handler for a UCP profile',
    description:
      'The `payment_handlers` block that a business puts into its UCP discovery profile, so that agents find how it can be paid.',
    responses: { 200: { description: 'The block.', document: paymentProfile } },
    problems: OF_MERCHANT,
  },
  'POST /api/v2/merchant/checkout-prepare': {
    id: 'prepareCheckout',
    tag: 'Merchant',
    access: 'merchant',
    summary: 'Turn a fiat price into the payment handler of a checkout',
    description:
      'One entry of `accepts` for each token and network that the merchant takes. The same checkout gets the same entries while rates do not change: shops compare them.',
    body: checkoutBody,
    responses: { 200: { description: 'The block.', document: checkoutPrepared } },
    problems: [...OF_MERCHANT, ...WITH_BODY, ...WITH_RATE, ...WITH_CHAIN],
  },
}

/** `…/settlements`, of a project or of all. */
export function settlementOperations(owner: Owner): Operations {
  const isAdmin = owner.access === 'admin'
  const tag = isAdmin ? 'Admin: payments' : 'Settlements'
  return {
    [`GET ${owner.prefix}/settlements`]: {
      ...commonOf(owner, 'listSettlements'),
      tag,
      summary: 'List settlements',
      description: 'What became of payments, newest first, in pages.',
      query: [...settlementParameters, ...owner.query],
      responses: {
        200: { description: 'A page.', document: isAdmin ? adminSettlementList : settlementList },
      },
    },
    [`GET ${owner.prefix}/settlements/{id}`]: {
      ...commonOf(owner, 'getSettlement'),
      tag,
      summary: 'Get a settlement',
      description: 'One payment, and what became of it.',
      path: { id: SETTLEMENT_ID },
      responses: {
        200: { description: 'The settlement.', document: isAdmin ? adminSettlement : settlement },
      },
      problems: [...owner.problems, 'not_found'],
    },
  }
}

/** What `{id}` of a settlement stands for. */
export const SETTLEMENT_ID = 'Id of the settlement: 32 hexadecimal digits.'
