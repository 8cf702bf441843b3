/** Answers of the endpoints below `/api/v2/payment`. */
import { z } from 'zod'
import { explainReason } from '../../shared/protocol/reason-words.js'
import { reasons } from '../../shared/protocol/reasons.js'
import { component, document } from './component.js'
import { address, anyObject, atomicUnits, list, network, object, text } from './fields.js'

/** Why a payment is refused. */
export const reasonSchema = component(
  'Reason',
  z.enum(reasons).meta({
    description: `Why a payment is refused:\n\n${reasons.map((reason) => `- \`${reason}\`: ${explainReason(reason)}`).join('\n')}`,
  }),
)

const transaction = z
  .string()
  .regex(/^(0x[0-9a-fA-F]{64})?$/)
  .meta({
    description:
      'Hash of the transaction on chain; empty where this request sent nothing, as where nothing was charged.',
    examples: [`0x${'4f'.repeat(32)}`],
  })

const payer = address('Address of the payer’s wallet.')

const requirementMembers = {
  scheme: text('Payment scheme.', 'exact'),
  network,
  amount: atomicUnits(
    'Amount in the token’s smallest unit; of the scheme `upto`, the most that may be charged.',
  ),
  payTo: address('Where the money goes.'),
  maxTimeoutSeconds: z
    .int()
    .positive()
    .meta({
      description: 'Seconds for which the payer should let the authorization be valid.',
      examples: [300],
    }),
  asset: address('Contract of the token.'),
  extra: anyObject(
    'The token’s EIP-712 domain (`name`, `version`), which wallets sign; `assetTransferMethod`, `permit2` where Permit2 moves the token; `offerId`, and `quote` where a rate was applied. Send it back unchanged.',
  ),
}

export const checkoutRequirement = document(
  'CheckoutRequirement',
  'One way to pay: a token on a network, and an amount of it.',
  requirementMembers,
)

const paymentRequirement = document(
  'PaymentRequirement',
  'One way to pay: a token on a network, and an amount of it.',
  {
    ...requirementMembers,
    protocolVersion: z.literal(2).meta({ description: 'Version of x402.' }),
  },
)

export const paymentRequired = document('PaymentRequiredResponse', 'What a payer is offered.', {
  x402Version: z.literal(2).meta({ description: 'Version of x402.' }),
  resource: object('What is being paid for.', {
    url: text('URL of what is sold, as it was given.'),
    description: text('What is sold; empty if none was given.'),
    mimeType: text('Its media type, if given.').optional(),
  }),
  accepts: list(
    'Ways to pay, in the merchant’s order. A payer chooses one and signs for it.',
    paymentRequirement,
  ),
  extensions: anyObject(
    'Where a token takes signed approvals: `eip2612GasSponsoring`, by which a payer need not approve Permit2 on chain.',
  ).optional(),
  protocolVersion: z.literal(2).meta({ description: 'The same as `x402Version`.' }),
})

const reasonMessage = text(
  'The reason in words. They may change: compare the code beside them.',
  'the payer has less of the token than the amount',
)

/** Members of the refusal of a payment, as problem details carry them. */
export const verifyRefusalMembers = {
  isValid: z.literal(false).optional().meta({ description: 'As in VerifyResponse2.' }),
  invalidReason: reasonSchema.optional().meta({ description: 'As in VerifyResponse2.' }),
  invalidMessage: reasonMessage.optional(),
}

/** Members of a settlement that failed, as problem details carry them. */
export const settleRefusalMembers = {
  success: z.literal(false).optional().meta({ description: 'As in SettleResponse.' }),
  errorReason: reasonSchema.optional().meta({ description: 'As in SettleResponse.' }),
  errorMessage: reasonMessage.optional(),
  transaction: transaction.optional(),
  network: network.optional(),
  payer: payer.optional(),
}

export const verifyResponse = component(
  'VerifyResponse2',
  z
    .union([
      object('The payment is valid.', {
        isValid: z.literal(true).meta({ description: 'The payment can be settled.' }),
        payer,
      }),
      object('The payment is refused.', {
        isValid: z.literal(false).meta({ description: 'The payment is refused.' }),
        invalidReason: reasonSchema,
        invalidMessage: reasonMessage.optional(),
        error: text('The same words, in the member that shops’ plugins show.'),
        payer: payer.optional(),
      }),
    ])
    .meta({ description: 'Whether a payment is valid. A refusal has status 200, too.' }),
)

export const settleResponse = component(
  'SettleResponse',
  z
    .union([
      object('The merchant was paid.', {
        success: z.literal(true).meta({ description: 'The merchant was paid.' }),
        transaction,
        network,
        payer,
        amount: atomicUnits(
          'What was charged, in the token’s smallest unit. Only of the scheme `upto`.',
        ).optional(),
      }),
      object(
        'The payment was refused, was settled before, or is pending (`settlement_pending`, with its transaction).',
        {
          success: z
            .literal(false)
            .meta({ description: 'The payment was not settled, or not yet.' }),
          errorReason: reasonSchema,
          errorMessage: reasonMessage.optional(),
          transaction,
          settledBy: text(
            'The transaction that settled this purchase before, for the asker whose `Idempotency-Key` it was settled with, or for its project if it was settled without one. It does not say which buyer presented the payment.',
          ).optional(),
          network,
          payer: payer.optional(),
        },
      ),
    ])
    .meta({ description: 'What came of a settlement.' }),
)

export const supportedResponse = document(
  'SupportedResponse',
  'What this facilitator can do for the merchant.',
  {
    kinds: list(
      'Each scheme on each network that the merchant takes payments on.',
      z.object({
        x402Version: z
          .literal([1, 2])
          .meta({ description: 'Version of x402: 1 as well, if the merchant has `v1`.' }),
        scheme: text('Payment scheme.', 'exact'),
        network,
        extra: anyObject(
          'What offers of the scheme must carry: `facilitatorAddress` of `upto`.',
        ).optional(),
      }),
    ),
    extensions: z.array(z.string()).meta({
      description: 'Extensions of x402 that are understood.',
      examples: [['payment-identifier']],
    }),
    signers: z.record(z.string(), z.array(z.string())).meta({
      description: 'Addresses that send the transactions, by CAIP-2 pattern.',
      examples: [{ 'eip155:*': ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'] }],
    }),
  },
)
