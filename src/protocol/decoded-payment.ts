/** A payment, decoded once where it comes in; nothing behind that parses it again. */
import { parseAuthorization } from './authorization.js'
import type { Authorization, AuthorizationKey } from './authorization.js'
import type { Parsed } from './document.js'
import { lowerHex } from './hex.js'
import { findNetwork, type Network } from './networks.js'
import { readPaymentId } from './payment-identifier.js'
import { parseExactEvmPayload, parsePaymentRequirements } from './payment.js'
import type { Hex, PaymentPayload, PaymentRequirements } from './payment.js'

/** An ERC-3009 authorization with its signature. */
export interface SignedAuthorization {
  readonly authorization: Authorization
  /** Lower case, in the form in which it was sent. */
  readonly signature: Hex
  /** The payer's address as its client wrote it. */
  readonly payer: string
}

/** A client's payment. A part that cannot be read carries its errors, for those who report them. */
export interface DecodedPayload {
  /** As the client sent it. */
  readonly payload: PaymentPayload
  /** `payload.accepted`: the entry of `accepts` that the payer chose. */
  readonly accepted: Parsed<PaymentRequirements>
  /** `payload.payload`, for the scheme `exact`. */
  readonly signed: Parsed<SignedAuthorization>
  /** What its payer calls it, by the extension `payment-identifier`. */
  readonly paymentId: Parsed<string | undefined>
}

/** A payment, and the entry of `accepts` that it is to be verified against. */
export interface Payment extends DecodedPayload {
  readonly requirements: PaymentRequirements
  /** Absent where the requirements name no EVM chain. */
  readonly network: Network | undefined
  /** What the ledger knows it by; absent without a network or an authorization. */
  readonly key: AuthorizationKey | undefined
}

/** A payment by ERC-3009 on a network. */
export interface AuthorizedPayment extends Payment {
  readonly signed: Extract<Parsed<SignedAuthorization>, { ok: true }>
  readonly key: AuthorizationKey
}

/** Type guard for {@link AuthorizedPayment}. */
export function isAuthorized(payment: Payment): payment is AuthorizedPayment {
  return payment.signed.ok && payment.key !== undefined
}

/** Decodes what a client sent. */
export function decodePayload(payload: PaymentPayload): DecodedPayload {
  return {
    payload,
    accepted: parsePaymentRequirements(payload.accepted),
    signed: readSigned(payload.payload),
    paymentId: readPaymentId(payload),
  }
}

/** A decoded payment, to be verified against an entry of `accepts`. */
export function paymentFor(decoded: DecodedPayload, requirements: PaymentRequirements): Payment {
  const network = findNetwork(requirements.network)
  const key = keyOf(decoded, { requirements, network })
  return { requirements, network, key, ...decoded }
}

/** Decodes a payment that comes with the entry of `accepts` it is to be verified against. */
export function decodePayment(payload: PaymentPayload, requirements: PaymentRequirements): Payment {
  return paymentFor(decodePayload(payload), requirements)
}

function readSigned(value: unknown): Parsed<SignedAuthorization> {
  const parsed = parseExactEvmPayload(value)
  if (!parsed.ok) return parsed
  const { authorization, signature } = parsed.value
  return {
    ok: true,
    value: {
      authorization: parseAuthorization(authorization),
      signature: lowerHex(signature),
      payer: authorization.from,
    },
  }
}

/** Made of parsed values, never of a signature, which can be rewritten. */
function keyOf(
  { signed }: DecodedPayload,
  { requirements, network }: Pick<Payment, 'requirements' | 'network'>,
): AuthorizationKey | undefined {
  if (!signed.ok || network === undefined) return undefined
  const { from, nonce } = signed.value.authorization
  return { chainId: network.chainId, asset: lowerHex(requirements.asset), from, nonce }
}
