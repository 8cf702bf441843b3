/** `/api/v2/payment/*` */
import { REQUIREMENTS_MEMBERS } from '../../../protocol/strict-document.js'
import { submissionSchema } from '../../../protocol/payment.js'
import { requirementsSchema } from '../../payment-routes.js'
import {
  paymentRequired,
  settleResponse,
  supportedResponse,
  verifyResponse,
} from '../documents/payment.js'
import type { Operation, Operations, RequestBody } from '../operation.js'
import {
  OF_PROJECT,
  SETTLE_CONFLICT,
  SETTLEMENT_FAILED,
  VERIFY_CONFLICT,
  WITH_BODY,
  WITH_CHAIN,
  WITH_KEY,
  WITH_RATE,
  WITH_TRANSACTION,
} from '../problems.js'
import { bodySchema, type Abouts } from '../request-schema.js'
import { AUTHORIZATION, OFFER, SIGNATURE } from './examples.js'

const requirementsBody: RequestBody = {
  schema: bodySchema(
    requirementsSchema,
    {
      resourceUrl: {
        description: 'Absolute URL of what is sold. It is echoed unchanged.',
        examples: ['https://shop.example/report/7'],
      },
      requestedAmount: {
        description: 'Price in major units (0.25 is a quarter), greater than zero.',
        schema: { type: 'number', exclusiveMinimum: 0 },
        examples: [0.25],
      },
      currency: {
        description: 'Currency of the price (ISO 4217). Default: the merchant’s.',
        schema: { type: ['string', 'null'], pattern: '^[A-Z]{3}$' },
        examples: ['EUR'],
      },
      description: { description: 'What is sold, for people.', examples: ['A weather report'] },
      mimeType: { description: 'Its media type.', examples: ['application/json'] },
    },
    REQUIREMENTS_MEMBERS,
  ),
  example: {
    resourceUrl: 'https://shop.example/report/7',
    requestedAmount: 0.01,
    description: 'A weather report',
  },
}

/** An object that may be left out. PHP writes one without members as an empty list. */
const optionalObject = {
  anyOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', maxItems: 0 },
    { type: 'null' },
  ],
}

const offerMembers: Abouts = {
  scheme: { description: 'Payment scheme.', examples: ['exact'] },
  network: { description: 'Chain: CAIP-2 or a short name.', examples: ['eip155:8453', 'base'] },
  amount: { description: 'Atomic units of the token, decimal.', examples: ['10000'] },
  payTo: { description: 'The merchant’s address.' },
  maxTimeoutSeconds: { description: 'Seconds that the authorization is given.', examples: [300] },
  asset: { description: 'Contract of the token.' },
  extra: { description: 'As it was offered.', schema: optionalObject },
  protocolVersion: { description: 'Version of x402: 2.', examples: [2] },
}

const submissionBody: RequestBody = {
  schema: bodySchema(submissionSchema, {
    paymentPayload: {
      description: 'What the payer signed, as it came in the `PAYMENT-SIGNATURE` header.',
      members: {
        x402Version: { description: 'Version of x402: 2.', examples: [2] },
        accepted: { description: 'The entry of `accepts` that the payer chose, unchanged.' },
        payload: {
          description: 'For scheme `exact`: `signature` and `authorization` (ERC-3009).',
        },
        resource: { description: 'What the payer believes to pay for.', schema: optionalObject },
        extensions: {
          description: 'Extensions of x402; `payment-identifier` is read.',
          schema: optionalObject,
        },
      },
    },
    paymentRequirements: {
      description: 'What the shop asks for. It must be the same offer as `accepted`.',
      members: offerMembers,
    },
    reference: {
      description: 'The shop’s own name for the payment: 1 to 200 visible characters.',
      schema: { type: ['string', 'null'], minLength: 1 },
      examples: ['order-7'],
    },
  }),
  example: {
    paymentPayload: {
      x402Version: 2,
      accepted: OFFER,
      payload: { signature: SIGNATURE, authorization: AUTHORIZATION },
    },
    paymentRequirements: OFFER,
  },
}

const common = { tag: 'Payments', access: 'project' } as const satisfies Partial<Operation>

/** `/api/v2/payment/*` */
export const paymentOperations: Operations = {
  'POST /api/v2/payment/requirements': {
    ...common,
    id: 'getPaymentRequirements',
    summary: 'Make an offer for a resource',
    description:
      'Turns a price into what a payer is offered: one entry of `accepts` for each token and network that the merchant takes, with the amount in the token’s smallest unit, rounded up. Unknown members are refused, so that a misspelled `currency` cannot change the price.',
    body: requirementsBody,
    responses: { 200: { description: 'The offer.', document: paymentRequired } },
    problems: [...OF_PROJECT, ...WITH_BODY, ...WITH_RATE, ...WITH_CHAIN],
  },
  'POST /api/v2/payment/verify': {
    ...common,
    id: 'verifyPayment',
    summary: 'Verify a payment without settling it',
    description:
      'Checks shape, terms, time window, signature, balance and nonce, and simulates the transfer. Nothing is sent and nothing is reserved. A refused payment has status 200 as well: see `isValid`. With an `Idempotency-Key`, final answers are repeated.',
    headers: ['Idempotency-Key'],
    body: submissionBody,
    responses: { 200: { description: 'Valid, or refused.', document: verifyResponse } },
    problems: [...OF_PROJECT, ...WITH_BODY, ...WITH_KEY, VERIFY_CONFLICT, ...WITH_TRANSACTION],
  },
  'POST /api/v2/payment/settle': {
    ...common,
    id: 'settlePayment',
    summary: 'Settle a payment on chain',
    description:
      'Verifies the payment, has a relayer send ERC-3009 `transferWithAuthorization`, and waits for the transaction up to 25 s. The gateway pays the gas. A payment that is refused, was settled before or is still pending has status 200: see `success` and `errorReason`. One that failed on chain is a 502 `transaction_failed`. An authorization is settled once, whatever is repeated; with an `Idempotency-Key`, a repeated request gets the first answer.',
    headers: ['Idempotency-Key'],
    body: submissionBody,
    responses: { 200: { description: 'Paid, refused or pending.', document: settleResponse } },
    problems: [
      ...OF_PROJECT,
      ...WITH_BODY,
      ...WITH_KEY,
      SETTLE_CONFLICT,
      SETTLEMENT_FAILED,
      ...WITH_TRANSACTION,
    ],
  },
  'GET /api/v2/payment/supported': {
    ...common,
    id: 'listSupported',
    summary: 'List what this facilitator supports',
    description:
      'Schemes and networks on which the merchant takes payments, extensions, and the addresses that send the transactions. x402 clients and servers ask for it at start.',
    responses: { 200: { description: 'What is supported.', document: supportedResponse } },
    problems: [...OF_PROJECT, ...WITH_CHAIN],
  },
}
