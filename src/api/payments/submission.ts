/** The body of verify and settle. */
import type { Request } from 'express'
import { z } from 'zod'
import { isReference, NOT_A_REFERENCE } from '../../ledger/payment-details.js'
import { readPaymentId } from '../../shared/protocol/payment-identifier.js'
import { submissionSchema, type PaymentSubmission } from '../../shared/protocol/payment.js'
import { parseSubmissionV1, submissionSchemaV1 } from '../../shared/protocol/version-1.js'
import type { RequestBody } from '../serve/define-endpoint.js'
import { AUTHORIZATION, OFFER, SIGNATURE } from '../serve/examples.js'
import { invalidBody, readBody } from '../serve/json-body.js'

/** An object that may be left out. PHP writes one without members as an empty list. */
const optionalObject = {
  anyOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', maxItems: 0 },
    { type: 'null' },
  ],
}

export const referenceMember = z
  .custom<string>(isReference, NOT_A_REFERENCE)
  .nullish()
  .meta({
    description: 'The shop’s own name for the payment: 1 to 200 visible characters.',
    as: { type: ['string', 'null'], minLength: 1 },
    examples: ['order-7'],
  })

const { paymentPayload: payload, paymentRequirements: requirements } = submissionSchema.shape
const payment = payload.shape
const offer = requirements.shape

/** An x402 document, which may be extended anywhere. */
export const submissionBody = {
  schema: z.looseObject({
    paymentPayload: payload
      .extend({
        x402Version: payment.x402Version.meta({
          description: 'Version of x402: 2.',
          examples: [2],
        }),
        accepted: payment.accepted.meta({
          description: 'The entry of `accepts` that the payer chose, unchanged.',
        }),
        payload: payment.payload.meta({
          description:
            '`signature`, and `authorization` (ERC-3009) or `permit2Authorization` (Permit2).',
        }),
        resource: payment.resource.meta({
          description: 'What the payer believes to pay for.',
          as: optionalObject,
        }),
        extensions: payment.extensions.meta({
          description: 'Extensions of x402; `payment-identifier` is read.',
          as: optionalObject,
        }),
      })
      .meta({
        description: 'What the payer signed, as it came in the `PAYMENT-SIGNATURE` header.',
      }),
    paymentRequirements: requirements
      .extend({
        scheme: offer.scheme.meta({ description: 'Payment scheme.', examples: ['exact'] }),
        network: offer.network.meta({
          description: 'Chain: CAIP-2 or a short name.',
          examples: ['eip155:8453', 'base'],
        }),
        amount: offer.amount.meta({
          description: 'Atomic units of the token, decimal.',
          examples: ['10000'],
        }),
        payTo: offer.payTo.meta({ description: 'The merchant’s address.' }),
        maxTimeoutSeconds: offer.maxTimeoutSeconds.meta({
          description: 'Seconds that the authorization is given.',
          examples: [300],
        }),
        asset: offer.asset.meta({ description: 'Contract of the token.' }),
        extra: offer.extra.meta({ description: 'As it was offered.', as: optionalObject }),
        protocolVersion: offer.protocolVersion.meta({
          description: 'Version of x402: 2.',
          examples: [2],
        }),
      })
      .meta({
        description: 'What the shop asks for. It must be the same offer as `accepted`.',
      }),
    reference: referenceMember,
  }),
  version1: submissionSchemaV1.extend({
    paymentPayload: submissionSchemaV1.shape.paymentPayload.meta({
      description:
        'Where the merchant has `v1`: what the payer signed, as it came in the `X-PAYMENT` header.',
    }),
    paymentRequirements: submissionSchemaV1.shape.paymentRequirements.meta({
      description: 'What the shop asks for, as version 1 writes it.',
    }),
  }),
  tolerates: 'any',
  example: {
    paymentPayload: {
      x402Version: 2,
      accepted: OFFER,
      payload: { signature: SIGNATURE, authorization: AUTHORIZATION },
    },
    paymentRequirements: OFFER,
  },
} satisfies RequestBody

export type Submission = z.output<typeof submissionBody.schema>

export interface IdentifiedSubmission extends PaymentSubmission {
  readonly paymentId: string | undefined
  /** The shop's own name for the payment. */
  readonly reference?: string
}

/** Reads the body of a request in version 1 as one of version 2. @throws `RequestProblem` 400 */
export const readSubmissionV1 = (req: Request): PaymentSubmission =>
  readBody(req, parseSubmissionV1)

/** Reads the id that the payer gave the payment. @throws `RequestProblem` 400 for a malformed one */
export function identifySubmission(
  submission: Submission | PaymentSubmission,
): IdentifiedSubmission {
  const { paymentPayload, paymentRequirements } = submission
  const reference = 'reference' in submission ? submission.reference : undefined
  const id = readPaymentId(paymentPayload)
  if (!id.ok)
    throw invalidBody(
      id.errors.map((error) => ({ ...error, path: `paymentPayload.${error.path}` })),
    )
  return {
    paymentPayload,
    paymentRequirements,
    paymentId: id.value,
    ...(typeof reference === 'string' && { reference }),
  }
}
