/**
 * x402 version 1: its documents, written from those of version 2 and read as such.
 *
 * Its 402 is the body of the response. A payment names scheme and network, and neither the offer nor the token
 * that it is for.
 */
import { z } from 'zod'
import type { Parsed } from './document.js'
import { parseDocument } from './document.js'
import { findNetwork } from './networks.js'
import { EXACT, submissionSchema, X402_VERSION } from './payment.js'
import type { PaymentRequired, PaymentSubmission, SupportedResponse } from './payment.js'
import { isPermit2 } from './same-offer.js'

export const VERSION_1 = 1 as const

/** The networks that SDKs of version 1 know. They refuse a whole 402 that names another one. */
const NETWORKS: ReadonlySet<string> = new Set([
  'abstract',
  'abstract-testnet',
  'avalanche',
  'avalanche-fuji',
  'base',
  'base-sepolia',
  'educhain',
  'iotex',
  'peaq',
  'polygon',
  'polygon-amoy',
  'sei',
  'sei-testnet',
  'skale-base-sepolia',
  'story',
])

function nameInVersion1(id: string): string | undefined {
  const shortName = findNetwork(id)?.shortName
  return shortName !== undefined && NETWORKS.has(shortName) ? shortName : undefined
}

export interface PaymentRequiredV1 {
  readonly x402Version: typeof VERSION_1
  readonly error?: string
  readonly accepts: readonly object[]
}

/**
 * Writes the document of a 402 in version 1.
 *
 * @returns `undefined` if nothing in it could be paid by such a buyer.
 */
export function paymentRequiredV1({
  error,
  resource: { url, description = '', mimeType = '' },
  accepts,
}: PaymentRequired): PaymentRequiredV1 | undefined {
  const entries = accepts.flatMap((entry) => {
    const { scheme, network, amount, payTo, maxTimeoutSeconds, asset, extra } = entry
    const name = nameInVersion1(network)
    if (name === undefined || scheme !== EXACT || isPermit2(entry)) return []
    return [
      {
        scheme,
        network: name,
        maxAmountRequired: amount,
        resource: url,
        description,
        mimeType,
        payTo,
        maxTimeoutSeconds,
        asset,
        // Nothing else would come back with the payment.
        extra: { name: extra?.['name'], version: extra?.['version'] },
      },
    ]
  })
  if (entries.length === 0) return undefined
  return { x402Version: VERSION_1, ...(error !== undefined && { error }), accepts: entries }
}

export function kindsInVersion1(kinds: SupportedResponse['kinds']) {
  return kinds.flatMap(({ scheme, network }) => {
    const name = nameInVersion1(network)
    if (name === undefined || scheme !== EXACT) return []
    return [{ x402Version: VERSION_1, scheme, network: name }]
  })
}

const { paymentPayload: payloadSchema, paymentRequirements: requirementsSchema } =
  submissionSchema.shape

const paymentSchema = payloadSchema
  .pick({ payload: true, extensions: true })
  .extend({ x402Version: z.literal(VERSION_1), scheme: z.string(), network: z.string() })

export type PaymentV1 = z.output<typeof paymentSchema>

export const parsePaymentV1 = (document: unknown): Parsed<PaymentV1> =>
  parseDocument(paymentSchema, document)

/** Body of verify and settle in version 1. */
export const submissionSchemaV1 = z.looseObject({
  paymentPayload: paymentSchema,
  paymentRequirements: requirementsSchema
    .omit({ amount: true, protocolVersion: true })
    .extend({ maxAmountRequired: requirementsSchema.shape.amount, resource: z.string() }),
})

/** Reads the body of verify and settle as one of version 2. */
export function parseSubmissionV1(body: unknown): Parsed<PaymentSubmission> {
  const parsed = parseDocument(submissionSchemaV1, body)
  if (!parsed.ok) return parsed
  const { scheme, network, payload, extensions } = parsed.value.paymentPayload
  const { payTo, maxTimeoutSeconds, asset, extra, ...asked } = parsed.value.paymentRequirements
  const { maxAmountRequired: amount, resource: url } = asked
  const terms = { amount, payTo, maxTimeoutSeconds, asset, extra }
  const paymentRequirements = { scheme: asked.scheme, network: asked.network, ...terms }
  const accepted = { scheme, network, ...terms }
  const resource = { url }
  return {
    ok: true,
    value: {
      paymentPayload: { x402Version: X402_VERSION, accepted, payload, resource, extensions },
      paymentRequirements,
    },
  }
}
