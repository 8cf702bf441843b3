/** MPP: the authentication scheme `Payment` (draft-httpauth-payment-00), with the method `evm` (draft-evm-charge-00). */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { isObject } from './document.js'

export const AUTHORIZATION = 'Authorization'
export const WWW_AUTHENTICATE = 'WWW-Authenticate'
export const PAYMENT_RECEIPT = 'Payment-Receipt'

/** The only payment method that is spoken here, and what it does. */
export const EVM_CHARGE = { method: 'evm', intent: 'charge' } as const

export const credentialSchema = z.object({
  /** All that its id covers. `request` and `opaque` are of {@link encodeJson}. */
  challenge: z.object({
    id: z.string(),
    realm: z.string(),
    method: z.string(),
    intent: z.string(),
    // In MCP it is not encoded.
    request: z.union([z.string(), z.looseObject({}).transform((one) => encodeJson(sorted(one)))]),
    expires: z.string(),
    digest: z.string().optional(),
    opaque: z.string(),
  }),
  payload: z.looseObject({
    type: z.literal('authorization'),
    from: z.string(),
    validBefore: z.string(),
    nonce: z.string(),
  }),
  source: z.string().optional(),
})

export type Credential = Readonly<z.output<typeof credentialSchema>>
export type PaymentChallenge = Credential['challenge']

/** Names a challenge as § 5.1.2.1.1 recommends it: nobody without the key can make one, or change a member. */
function idOf(key: Buffer, challenge: Omit<PaymentChallenge, 'id'>): string {
  const { realm, method, intent, request, expires, digest = '', opaque } = challenge
  const slots = [realm, method, intent, request, expires, digest, opaque]
  return createHmac('sha256', key).update(slots.join('|')).digest('base64url')
}

/** Tells whether a challenge was written with this key. */
export function isOwn(key: Buffer, challenge: PaymentChallenge): boolean {
  const [given, own] = [Buffer.from(challenge.id), Buffer.from(idOf(key, challenge))]
  return given.length === own.length && timingSafeEqual(given, own)
}

/** Adds the id, which only this key can make. */
export function nameChallenge(
  key: Buffer,
  unnamed: Omit<PaymentChallenge, 'id'>,
): PaymentChallenge {
  return { id: idOf(key, unnamed), ...unnamed }
}

/** Writes a challenge. Nothing has to be escaped, but quotation marks, which a host may have. */
export function writeChallenge(challenge: PaymentChallenge): string {
  const written = Object.entries(challenge).flatMap(([name, value]) =>
    value ? `${name}="${value.replaceAll('"', '\\"')}"` : [],
  )
  return `Payment ${written.join(', ')}`
}

/** @param value - Its members in the order of RFC 8785: clients write it again. */
export function encodeJson(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

export const decodeJson = (text: string): object =>
  JSON.parse(Buffer.from(text, 'base64url').toString()) as object

/** Puts members of nested objects in the order of RFC 8785. Arrays stay as they are. */
function sorted(value: object): object {
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(
    members.map(([name, member]) => [name, isObject(member) ? sorted(member) : member]),
  )
}

/** A part between commas that stand outside quotation marks. */
const PART = /(?:[^,"]|"(?:\\.|[^"\\])*"?)+/g

/** Parts the credentials of this scheme from the others in an `Authorization` (RFC 9110 § 11.4). */
export function partCredentials(authorization: string) {
  const isPayment = (part: string): boolean => /^payment(?:\s|$)/i.test(part)
  const parts = (authorization.match(PART) ?? []).map((part) => part.trim())
  const payments = parts.filter(isPayment).map((part) => part.slice('payment'.length))
  return { payments, others: parts.filter((part) => !isPayment(part)).join(', ') }
}
