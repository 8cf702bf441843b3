/** Payments of x402 version 1, as its buyers write them. */
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'

/** The payment of version 1 that has the same authorization. */
export function asVersion1({ payload }: PaymentPayload, overrides: object = {}): object {
  return { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload, ...overrides }
}

/** A document in the header of version 1. */
export const xPayment = (document: unknown): Record<string, string> => ({
  'X-PAYMENT': Buffer.from(JSON.stringify(document)).toString('base64'),
})
