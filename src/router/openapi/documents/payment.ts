/** What the endpoints below `/api/v2/payment` respond with. */
import { z } from 'zod'
import type {
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '../../../protocol/payment.js'
import { explainReason } from '../../../protocol/reason-words.js'
import { reasons } from '../../../protocol/reasons.js'
import { component } from '../components.js'
import { address, anyObject, atomicUnits, network } from './fields.js'

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
    description: 'Hash of the transaction on chain; empty where this request sent nothing.',
    examples: [`0x${'4f'.repeat(32)}`],
  })

const payer = address('Address of the payer’s wallet.')

const requirementMembers = {
  scheme: z.string().meta({ description: 'Payment scheme.', examples: ['exact'] }),
  network,
  amount: atomicUnits('Amount in the token’s smallest unit.'),
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
    'The token’s EIP-712 domain (`name`, `version`), which wallets sign; `offerId`, and `quote` where a rate was applied. Send it back unchanged.',
  ),
}

/** An entry of `accepts` in a checkout. */
export const checkoutRequirement = component(
  'CheckoutRequirement',
  z
    .object(requirementMembers)
    .meta({ description: 'One way to pay: a token on a network, and an amount of it.' }),
)

const paymentRequirement = component(
  'PaymentRequirement',
  z
    .object({
      ...requirementMembers,
      protocolVersion: z.literal(2).meta({ description: 'Version of x402.' }),
    } satisfies Record<keyof PaymentRequirements, z.ZodType>)
    .meta({ description: 'One way to pay: a token on a network, and an amount of it.' }),
)

/** `POST /api/v2/payment/requirements`. */
export const paymentRequired = component(
  'PaymentRequiredResponse',
  z
    .object({
      x402Version: z.literal(2).meta({ description: 'Version of x402.' }),
      resource: z
        .object({
          url: z.string().meta({ description: 'URL of what is sold, as it was given.' }),
          description: z.string().meta({ description: 'What is sold; empty if none was given.' }),
          mimeType: z.string().optional().meta({ description: 'Its media type, if given.' }),
        })
        .meta({ description: 'What is being paid for.' }),
      accepts: z.array(paymentRequirement).meta({
        description: 'Ways to pay, in the merchant’s order. A payer chooses one and signs for it.',
      }),
      protocolVersion: z.literal(2).meta({ description: 'The same as `x402Version`.' }),
    } satisfies Record<
      Exclude<keyof PaymentRequired, 'error' | 'errorMessage' | 'extensions'>,
      z.ZodType
    >)
    .meta({ description: 'What a payer is offered.' }),
)

const reasonMessage = z.string().meta({
  description: 'The reason in words. They may change: compare the code beside them.',
  examples: ['the payer has less of the token than the amount'],
})

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

/** `POST /api/v2/payment/verify`. */
export const verifyResponse = component(
  'VerifyResponse2',
  z
    .union([
      z
        .object({
          isValid: z.literal(true).meta({ description: 'The payment can be settled.' }),
          payer,
        })
        .meta({ description: 'The payment is valid.' }),
      z
        .object({
          isValid: z.literal(false).meta({ description: 'The payment is refused.' }),
          invalidReason: reasonSchema,
          invalidMessage: reasonMessage.optional(),
          payer: payer.optional(),
        })
        .meta({ description: 'The payment is refused.' }),
    ])
    .meta({ description: 'Whether a payment is valid. A refusal has status 200, too.' }),
) satisfies z.ZodType<VerifyResponse>

/** `POST /api/v2/payment/settle`. */
export const settleResponse = component(
  'SettleResponse',
  z
    .union([
      z
        .object({
          success: z.literal(true).meta({ description: 'The merchant was paid.' }),
          transaction,
          network,
          payer,
        })
        .meta({ description: 'The merchant was paid.' }),
      z
        .object({
          success: z
            .literal(false)
            .meta({ description: 'The payment was not settled, or not yet.' }),
          errorReason: reasonSchema,
          errorMessage: reasonMessage.optional(),
          transaction,
          settledBy: z.string().optional().meta({
            description:
              'The transaction that settled this purchase before, for the asker whose `Idempotency-Key` it was settled with.',
          }),
          network,
          payer: payer.optional(),
        })
        .meta({
          description:
            'The payment was refused, was settled before, or is pending (`settlement_pending`, with its transaction).',
        }),
    ])
    .meta({ description: 'What came of a settlement.' }),
) satisfies z.ZodType<SettleResponse>

/** `GET /api/v2/payment/supported`. */
export const supportedResponse = component(
  'SupportedResponse',
  z
    .object({
      kinds: z
        .array(
          z.object({
            x402Version: z.literal(2).meta({ description: 'Version of x402.' }),
            scheme: z.string().meta({ description: 'Payment scheme.', examples: ['exact'] }),
            network,
          }),
        )
        .meta({ description: 'Each scheme on each network that the merchant takes payments on.' }),
      extensions: z.array(z.string()).meta({
        description: 'Extensions of x402 that are understood.',
        examples: [['payment-identifier']],
      }),
      signers: z.record(z.string(), z.array(z.string())).meta({
        description: 'Addresses that send the transactions, by CAIP-2 pattern.',
        examples: [{ 'eip155:*': ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'] }],
      }),
    } satisfies Record<keyof SupportedResponse, z.ZodType>)
    .meta({ description: 'What this facilitator can do for the merchant.' }),
)
