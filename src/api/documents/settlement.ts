/** Settlements and refunds, as the API shows them. */
import { z } from 'zod'
import { document } from './component.js'
import {
  address,
  atomicUnits,
  count,
  integer,
  list,
  network,
  nextCursor,
  object,
  projectMembers,
  testnet,
  text,
  time,
} from './fields.js'
import { reasonSchema } from './payment.js'

const quote = document(
  'AppliedRate',
  'The exchange rate by which a price became an amount of the token.',
  {
    price: text('The price in `currency`; where less was charged, that part of it.', '0.50'),
    currency: text('Currency (ISO 4217).', 'EUR'),
    rate: text(
      'Price of one unit of `currency` in the token’s currency, without a buffer.',
      '1.08',
    ),
    asOf: time('When the rate held.'),
    source: text('Where the rate is from.', 'fixed'),
  },
)

/** Members that settlements and refunds share. `reserved` is a settlement's only. */
export const settlementMembers = {
  id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .meta({ description: 'Id of the settlement.', examples: ['5f0c2ab7c9d14e6f8a3b1c2d4e5f6071'] }),
  status: z.enum(['reserved', 'pending', 'settled', 'failed']).meta({
    description:
      '`reserved`: taken for one request, nothing was sent. `pending`: a transaction was sent. `settled`: paid. `failed`: the transaction was mined, and paid nobody.',
  }),
  network,
  testnet,
  asset: address('Contract of the token.'),
  symbol: text('Symbol of the token, if the gateway knows it.', 'USDC').optional(),
  decimals: integer('Digits after the point of one token: 6 for USDC.', 6).optional(),
  amount: atomicUnits('Amount in atomic units of the token.'),
  payer: address('Who pays.'),
  payTo: address('Who is paid.'),
  nonce: text('The payer’s nonce: of the ERC-3009 authorization of the token, or of Permit2.'),
  transaction: text(
    'Hash of the transaction, once there is one. None where nothing was charged.',
  ).optional(),
  delivered: z
    .literal(false)
    .meta({ description: 'Paid, not delivered: refund it, or list its price in `earlierPrices`.' })
    .optional(),
  errorReason: reasonSchema.optional(),
  resource: text('URL of what was sold.').optional(),
  method: text('HTTP method that was paid for.').optional(),
  route: text('Route of the app that sold it.', '/report/:id').optional(),
  askedPrice: text('The price as it was asked.', '$0.25').optional(),
  reference: text('The merchant’s own name for the payment.', 'order-7').optional(),
  quote: quote.optional(),
  createdAt: time('When the payment was presented.'),
  updatedAt: time('When its state last changed.'),
}

const paymentMembers = {
  maximum: atomicUnits(
    'The most that may be charged, which the payer has signed: `amount` is what was. Only of the scheme `upto`.',
  ).optional(),
  refunded: atomicUnits('Atomic units that were refunded, if any.').optional(),
  refunds: count('Number of refunds, those that failed included; absent without any.').optional(),
}

export const settlement = document('Settlement', 'A payment, and what became of it.', {
  ...settlementMembers,
  ...paymentMembers,
})

export const settlementList = document('SettlementList', 'A page of settlements.', {
  settlements: list('Newest first.', settlement),
  nextCursor,
})

export const settlementSum = document('SettlementSum', 'What was settled in one token.', {
  network,
  testnet,
  asset: address('Contract of the token.'),
  symbol: text('Symbol of the token.').optional(),
  decimals: integer('Digits after the point of one token.').optional(),
  count: count('Settlements that were paid.'),
  amount: atomicUnits('Atomic units that were paid, before refunds.'),
  refunded: atomicUnits('Atomic units of them that were refunded.'),
})

export const settlementSummary = document('SettlementSummary', 'What a search comes to.', {
  count: count('Settlements that were looked at, in any state.'),
  isMore: z.boolean().meta({ description: 'Whether the search finds more than that.' }),
  sums: list('Sums of those that were paid, each of one token.', settlementSum),
})

export const adminSettlement = document(
  'AdminSettlement',
  'A payment of any project, and what became of it.',
  {
    ...projectMembers,
    ...settlementMembers,
    ...paymentMembers,
  },
)

export const adminSettlementList = document('AdminSettlementList', 'A page of settlements.', {
  settlements: list('Newest first.', adminSettlement),
  nextCursor,
})

export const refundMembers = {
  ...settlementMembers,
  id: text('Id of the refund.'),
  status: z.enum(['pending', 'settled', 'failed']).meta({
    description:
      '`pending`: a transaction was sent. `settled`: the buyer was paid. `failed`: the transaction was mined, and paid nobody.',
  }),
  payer: address('The merchant, who pays.'),
  payTo: address('The buyer, who is paid.'),
  settlement: text('Id of the settlement that is paid back.'),
  reason: text('Why it is paid back.', 'The parcel was lost.').optional(),
  requestedBy: text(
    'Who asked for it: `merchant` or `operator`; operators see which one.',
    'merchant',
  ).optional(),
  heldUntil: time(
    'Until then the amount of a failed refund is not free again: its authorization could be used.',
  ).optional(),
}

export const refund = document(
  'Refund',
  'A payment from the merchant back to the buyer.',
  refundMembers,
)

/** The refund that failed, as problem details carry it. Their `status` is the HTTP status. */
export const failedRefundMembers = Object.fromEntries(
  Object.entries(refundMembers).filter(([name]) => name !== 'status'),
)

export const refundList = document('RefundList', 'The refunds of a settlement.', {
  refunds: list('Oldest first.', refund),
})

export const refundPage = document('RefundPage', 'A page of refunds.', {
  refunds: list('Newest first.', refund),
  nextCursor,
})

export const adminRefundPage = document('AdminRefundPage', 'A page of refunds.', {
  refunds: list(
    'Newest first.',
    document('AdminRefund', 'A payment from the merchant of any project back to the buyer.', {
      ...projectMembers,
      ...refundMembers,
    }),
  ),
  nextCursor,
})

export const preparedRefund = document(
  'PreparedRefund',
  'What the merchant’s wallet signs for a refund.',
  {
    typedData: object('What `eth_signTypedData_v4` takes.', {
      domain: object('The EIP-712 domain of the token.', {
        name: text('Name of the token, as its contract signs.'),
        version: text('Version of the token’s signatures.'),
        chainId: integer('Chain id.', 8453),
        verifyingContract: address('Contract of the token.'),
      }),
      types: z
        .record(z.string(), z.array(z.object({ name: z.string(), type: z.string() })))
        .meta({ description: 'The EIP-712 types.' }),
      primaryType: z.literal('TransferWithAuthorization').meta({ description: 'What is signed.' }),
      message: object('The ERC-3009 authorization.', {
        from: address('The merchant.'),
        to: address('The buyer.'),
        value: atomicUnits('Atomic units that go back.'),
        validAfter: text('Unix time in seconds from which it is valid.'),
        validBefore: text('Unix time in seconds until which it is valid: ten minutes.'),
        nonce: text('Random; names the refund.'),
      }),
    }),
  },
)
