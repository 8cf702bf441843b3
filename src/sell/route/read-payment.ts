import type { Request } from 'express'
import {
  decodeHeader,
  PAYMENT_HEADER_KEYS,
  PAYMENT_HEADERS,
  X_PAYMENT,
} from '../../shared/protocol/headers.js'
import { decodePayload, type DecodedPayload } from '../../shared/protocol/decoded-payment.js'
import type { DocumentError } from '../../shared/protocol/document.js'
import { isOtherVersion, parsePaymentPayload, versionOf } from '../../shared/protocol/payment.js'
import type { PaymentRequirements } from '../../shared/protocol/payment.js'
import { VERSION_1 } from '../../shared/protocol/version-1.js'
import type { SchemeFormats } from '../../core/schemes/scheme.js'
import { readPaymentV1, type Seller } from './payment-of-version-1.js'

/** The payment of a request, if it has one. */
export type PresentedHeader =
  | { readonly kind: 'none' }
  /** `problem` is for the developer of the client. */
  | { readonly kind: 'unreadable'; readonly problem: string }
  /** Another protocol version: readable, but refused. */
  | { readonly kind: 'other_version' }
  | {
      readonly kind: 'payment'
      readonly decoded: DecodedPayload
      /** The entry of `accepts` that the payer chose. */
      readonly accepted: PaymentRequirements
      /** Whether it came in version 1, whose buyers name networks otherwise. */
      readonly isVersion1: boolean
    }

/** Dependencies of {@link readPayment}. */
export interface PaymentReading {
  readonly formats: SchemeFormats
  /** The seller of a route that takes payments of version 1, too. */
  readonly version1?: Seller | undefined
}

/** Whether a request has a payment header, readable or not. */
export function bringsPayment({ headers }: Request): boolean {
  return PAYMENT_HEADER_KEYS.some((key) => headers[key] !== undefined)
}

/** Reads the payment of a request, from either of its header names. */
export async function readPayment(
  req: Request,
  { formats, version1 }: PaymentReading,
): Promise<PresentedHeader> {
  const name = PAYMENT_HEADERS.find((one) => req.get(one) !== undefined)
  if (name === undefined) return { kind: 'none' }
  const unreadable = (problem: string): PresentedHeader => ({
    kind: 'unreadable',
    problem: `The ${name} header cannot be read: ${problem}.`,
  })

  const header = decodeHeader(req.get(name) ?? '')
  if (!header.ok) return unreadable(header.problem)
  const isVersion1 = name === X_PAYMENT && versionOf(header.value) === VERSION_1
  if (isOtherVersion(header.value) && !(version1 && isVersion1)) return { kind: 'other_version' }
  const payload =
    version1 && isVersion1
      ? await readPaymentV1(header.value, version1, formats)
      : parsePaymentPayload(header.value)
  if (!payload.ok) return unreadable(describe('', payload.errors))
  const decoded = decodePayload(payload.value, formats)
  const { accepted, paymentId, read } = decoded
  if (!accepted.ok) return unreadable(describe('accepted', accepted.errors))
  // Of a scheme that is not spoken here, there is nothing to say.
  if (!read.ok && read.errors.length > 0) return unreadable(describe('payload', read.errors))
  if (!paymentId.ok) return unreadable(describe('', paymentId.errors))
  return { kind: 'payment', decoded, accepted: accepted.value, isVersion1 }
}

function describe(parent: string, errors: readonly DocumentError[]): string {
  return errors
    .map(({ path, message }) => {
      const where = [parent, path].filter(Boolean).join('.') || 'the document'
      return `${where}: ${message}`
    })
    .join('; ')
}
