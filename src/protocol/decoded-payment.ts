/** A payment, decoded once where it arrives and never parsed again. */
import { parseAuthorization } from './authorization.js'
import type { Authorization } from './authorization.js'
import type { Parsed } from './document.js'
import { lowerHex } from './hex.js'
import { findNetwork, type Network } from './networks.js'
import { readPaymentId } from './payment-identifier.js'
import { parseExactEvmPayload, parsePaymentRequirements } from './payment.js'
import type { Hex, PaymentPayload, PaymentRequirements } from './payment.js'
import type { PaymentKey } from './payment-key.js'

/** An ERC-3009 authorization with its signature. */
export interface SignedAuthorization {
  readonly authorization: Authorization
  /** As sent, in lower case. */
  readonly signature: Hex
  /** The payer's address as the client wrote it. */
  readonly payer: string
}

/** A client's payment. Unreadable parts carry their errors. */
export interface DecodedPayload {
  /** As the client sent it. */
  readonly payload: PaymentPayload
  /** `payload.accepted`: the entry of `accepts` that the payer chose. */
  readonly accepted: Parsed<PaymentRequirements>
  /** `payload.payload`, for the scheme `exact`. */
  readonly signed: Parsed<SignedAuthorization>
  /** The payer's id for it (extension `payment-identifier`). */
  readonly paymentId: Parsed<string | undefined>
}

/** A payment, and the entry of `accepts` to verify it against. */
export interface Payment extends DecodedPayload {
  readonly requirements: PaymentRequirements
  /** `undefined` if the requirements name no EVM chain. */
  readonly network: Network | undefined
  /** Its key in the ledger; `undefined` without a network or an authorization. */
  readonly key: PaymentKey | undefined
}

/** A payment by ERC-3009 on a network. */
export interface AuthorizedPayment extends Payment {
  readonly signed: Extract<Parsed<SignedAuthorization>, { ok: true }>
  readonly key: PaymentKey
}

/** Type guard for {@link AuthorizedPayment}. */
export function isAuthorized(payment: Payment): payment is AuthorizedPayment {
  return payment.signed.ok && payment.key !== undefined
}

export function decodePayload(payload: PaymentPayload): DecodedPayload {
  return {
    payload,
    accepted: parsePaymentRequirements(payload.accepted),
    signed: readSigned(payload.payload),
    paymentId: readPaymentId(payload),
  }
}

/** Pairs a decoded payment with the entry of `accepts` to verify it against. */
export function paymentFor(decoded: DecodedPayload, requirements: PaymentRequirements): Payment {
  const network = findNetwork(requirements.network)
  const key = keyOf(decoded, { requirements, network })
  return { requirements, network, key, ...decoded }
}

/** Decodes a payment that comes with its entry of `accepts`. */
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

/** Never contains the signature, which can be rewritten. */
function keyOf(
  { signed }: DecodedPayload,
  { requirements, network }: Pick<Payment, 'requirements' | 'network'>,
): PaymentKey | undefined {
  if (!signed.ok || network === undefined) return undefined
  const { from, nonce } = signed.value.authorization
  return { chainId: network.chainId, contract: lowerHex(requirements.asset), from, nonce }
}
