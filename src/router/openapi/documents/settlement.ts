/** Settlements and refunds, as the API shows them. */
import { z } from 'zod'
import type { refundDocument, settlementOf } from '../../settlement-document.js'
import { component } from '../components.js'
import { address, atomicUnits, count, network, nextCursor, time } from './fields.js'
import { reasonSchema } from './payment.js'

type Members<Document> = Record<keyof Document, z.ZodType>

const quote = component(
  'AppliedRate',
  z
    .object({
      price: z.string().meta({ description: 'The price in `currency`.', examples: ['0.50'] }),
      currency: z.string().meta({ description: 'Currency (ISO 4217).', examples: ['EUR'] }),
      rate: z.string().meta({
        description: 'Price of one unit of `currency` in the token’s currency, without a buffer.',
        examples: ['1.08'],
      }),
      asOf: time('When the rate held.'),
      source: z.string().meta({ description: 'Where the rate is from.', examples: ['fixed'] }),
    })
    .meta({ description: 'The exchange rate by which a price became an amount of the token.' }),
)

/** Members that settlements and refunds share. `reserved` is a settlement's only. */
const members = {
  id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .meta({ description: 'Id of the settlement.', examples: ['5f0c2ab7c9d14e6f8a3b1c2d4e5f6071'] }),
  status: z.enum(['reserved', 'pending', 'settled', 'failed']).meta({
    description:
      '`reserved`: taken for one request, nothing was sent. `pending`: a transaction was sent. `settled`: paid. `failed`: the transaction was mined, and paid nobody.',
  }),
  network,
  asset: address('Contract of the token.'),
  symbol: z
    .string()
    .optional()
    .meta({
      description: 'Symbol of the token, if the gateway knows it.',
      examples: ['USDC'],
    }),
  decimals: z
    .int()
    .optional()
    .meta({
      description: 'Digits after the point of one token: 6 for USDC.',
      examples: [6],
    }),
  amount: atomicUnits('Amount in atomic units of the token.'),
  payer: address('Who pays.'),
  payTo: address('Who is paid.'),
  nonce: z.string().meta({
    description: 'Nonce of the ERC-3009 authorization; with payer and asset it names the payment.',
  }),
  transaction: z.string().optional().meta({
    description: 'Hash of the transaction, once there is one.',
  }),
  errorReason: reasonSchema.optional(),
  resource: z.string().optional().meta({ description: 'URL of what was sold.' }),
  method: z.string().optional().meta({ description: 'HTTP method that was paid for.' }),
  route: z
    .string()
    .optional()
    .meta({
      description: 'Route of the app that sold it.',
      examples: ['/report/:id'],
    }),
  askedPrice: z
    .string()
    .optional()
    .meta({
      description: 'The price as it was asked.',
      examples: ['$0.25'],
    }),
  reference: z
    .string()
    .optional()
    .meta({
      description: 'The merchant’s own name for the payment.',
      examples: ['order-7'],
    }),
  quote: quote.optional(),
  createdAt: time('When the payment was presented.'),
  updatedAt: time('When its state last changed.'),
} satisfies Members<ReturnType<typeof settlementOf>>

const totals = {
  refunded: atomicUnits('Atomic units that were refunded, if any.').optional(),
  refunds: count('Number of refunds, those that failed included; absent without any.').optional(),
}

/** A settlement of a project. */
export const settlement = component(
  'Settlement',
  z.object({ ...members, ...totals }).meta({ description: 'A payment, and what became of it.' }),
)

/** A page of settlements. */
export const settlementList = component(
  'SettlementList',
  z
    .object({
      settlements: z.array(settlement).meta({ description: 'Newest first.' }),
      nextCursor,
    })
    .meta({ description: 'A page of settlements.' }),
)

/** A settlement, as operators see it. */
export const adminSettlement = component(
  'AdminSettlement',
  z
    .object({
      project: z.string().optional().meta({ description: 'Id of the project that was paid.' }),
      ...members,
      ...totals,
    })
    .meta({ description: 'A payment of any project, and what became of it.' }),
)

/** A page of the settlements of all projects. */
export const adminSettlementList = component(
  'AdminSettlementList',
  z
    .object({
      settlements: z.array(adminSettlement).meta({ description: 'Newest first.' }),
      nextCursor,
    })
    .meta({ description: 'A page of settlements.' }),
)

/** Members of a refund. */
const refundMembers = {
  ...members,
  id: z.string().meta({ description: 'Id of the refund.' }),
  status: z.enum(['pending', 'settled', 'failed']).meta({
    description:
      '`pending`: a transaction was sent. `settled`: the buyer was paid. `failed`: the transaction was mined, and paid nobody.',
  }),
  payer: address('The merchant, who pays.'),
  payTo: address('The buyer, who is paid.'),
  settlement: z.string().meta({ description: 'Id of the settlement that is paid back.' }),
  heldUntil: time(
    'Until then the amount of a failed refund is not free again: its authorization could be used.',
  ).optional(),
} satisfies Members<ReturnType<typeof refundDocument>>

/** A refund. */
export const refund = component(
  'Refund',
  z.object(refundMembers).meta({ description: 'A payment from the merchant back to the buyer.' }),
)

/** The refund that failed, as problem details carry it. Their `status` is the HTTP status. */
export const failedRefundMembers = Object.fromEntries(
  Object.entries(refundMembers).filter(([name]) => name !== 'status'),
)

/** The refunds of a settlement. */
export const refundList = component(
  'RefundList',
  z
    .object({ refunds: z.array(refund).meta({ description: 'Oldest first.' }) })
    .meta({ description: 'The refunds of a settlement.' }),
)

const text = (description: string) => z.string().meta({ description })

/** What a merchant signs for a refund. */
export const preparedRefund = component(
  'PreparedRefund',
  z
    .object({
      typedData: z
        .object({
          domain: z
            .object({
              name: text('Name of the token, as its contract signs.'),
              version: text('Version of the token’s signatures.'),
              chainId: z.int().meta({ description: 'Chain id.', examples: [8453] }),
              verifyingContract: address('Contract of the token.'),
            })
            .meta({ description: 'The EIP-712 domain of the token.' }),
          types: z
            .record(z.string(), z.array(z.object({ name: z.string(), type: z.string() })))
            .meta({ description: 'The EIP-712 types.' }),
          primaryType: z
            .literal('TransferWithAuthorization')
            .meta({ description: 'What is signed.' }),
          message: z
            .object({
              from: address('The merchant.'),
              to: address('The buyer.'),
              value: atomicUnits('Atomic units that go back.'),
              validAfter: text('Unix time in seconds from which it is valid.'),
              validBefore: text('Unix time in seconds until which it is valid: ten minutes.'),
              nonce: text('Random; names the refund.'),
            })
            .meta({ description: 'The ERC-3009 authorization.' }),
        })
        .meta({ description: 'What `eth_signTypedData_v4` takes.' }),
    })
    .meta({ description: 'What the merchant’s wallet signs for a refund.' }),
)
