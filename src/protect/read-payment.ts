import type { Request } from 'express'
import { decodeHeader, PAYMENT_SIGNATURE, X_PAYMENT } from '../protocol/headers.js'
import { readPaymentId } from '../protocol/payment-identifier.js'
import {
  parseExactEvmPayload,
  parsePaymentPayload,
  parsePaymentRequirements,
  X402_VERSION,
} from '../protocol/payment.js'
import type { DocumentError } from '../protocol/document.js'
import type { PaymentPayload, PaymentRequirements } from '../protocol/payment.js'

/** What a request brings. */
export type PresentedHeader =
  | { readonly kind: 'none' }
  /** `problem` is for whoever wrote the client. */
  | { readonly kind: 'unreadable'; readonly problem: string }
  /** Another protocol version: readable, but refused. */
  | { readonly kind: 'other_version' }
  | {
      readonly kind: 'payment'
      readonly payload: PaymentPayload
      /** `payload.accepted`, checked. */
      readonly accepted: PaymentRequirements
      /** What its payer calls it, by the extension `payment-identifier`. */
      readonly paymentId: string | undefined
    }

const PAYMENT_HEADERS = [PAYMENT_SIGNATURE, X_PAYMENT] as const

/** As Node has them. */
const PAYMENT_HEADER_KEYS = PAYMENT_HEADERS.map((name) => name.toLowerCase())

/** Tells whether a request brings a payment, readable or not. */
export function bringsPayment({ headers }: Request): boolean {
  return PAYMENT_HEADER_KEYS.some((key) => headers[key] !== undefined)
}

/** Reads the payment of a request, from either of its header names. */
export function readPayment(req: Request): PresentedHeader {
  const name = PAYMENT_HEADERS.find((one) => req.get(one) !== undefined)
  if (name === undefined) return { kind: 'none' }
  const unreadable = (problem: string): PresentedHeader => ({
    kind: 'unreadable',
    problem: `The ${name} header cannot be read: ${problem}.`,
  })

  const decoded = decodeHeader(req.get(name) ?? '')
  if (!decoded.ok) return unreadable(decoded.problem)
  if (isOtherVersion(decoded.value)) return { kind: 'other_version' }
  const payload = parsePaymentPayload(decoded.value)
  if (!payload.ok) return unreadable(describe('', payload.errors))
  const accepted = parsePaymentRequirements(payload.value.accepted)
  if (!accepted.ok) return unreadable(describe('accepted', accepted.errors))
  const exact = parseExactEvmPayload(payload.value.payload)
  if (!exact.ok) return unreadable(describe('payload', exact.errors))
  const id = readPaymentId(payload.value)
  if (!id.ok) return unreadable(describe('', id.errors))
  return { kind: 'payment', payload: payload.value, accepted: accepted.value, paymentId: id.value }
}

function isOtherVersion(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('x402Version' in value)) return false
  const { x402Version } = value
  return Number.isInteger(x402Version) && x402Version !== X402_VERSION
}

function describe(parent: string, errors: readonly DocumentError[]): string {
  return errors
    .map(({ path, message }) => {
      const where = [parent, path].filter(Boolean).join('.') || 'the document'
      return `${where}: ${message}`
    })
    .join('; ')
}
