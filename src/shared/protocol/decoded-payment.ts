/** A payment, decoded once where it arrives and never parsed again. */
import type { Parsed } from './document.js'
import { lowerHex } from './hex.js'
import { findNetwork, type Network } from './networks.js'
import { readPaymentId } from './payment-identifier.js'
import type { PaymentKey } from './payment-key.js'
import { parsePaymentRequirements } from './payment.js'
import type { Address, Hex, PaymentPayload, PaymentRequirements } from './payment.js'

/** What its scheme reads in a payment. Addresses and nonce are lower case. */
export interface PaymentFacts {
  readonly payer: Address
  readonly payTo: Address
  /** Token units; where the price is a maximum, the maximum. */
  readonly amount: bigint
  /** Unix time in seconds: not valid before. */
  readonly validAfter: bigint
  /** Unix time in seconds: not valid after. */
  readonly validBefore: bigint
  /** The contract that uses up the nonce. @defaultValue the token */
  readonly contract?: Address | undefined
  /** 32 bytes. */
  readonly nonce: Hex
  /** What was signed, with its signature: for the scheme alone. */
  readonly signed: unknown
}

export interface PayloadFormat {
  /** Whether the amount of a payment is a maximum, of which settling takes what was charged. @defaultValue false */
  readonly isMetered?: boolean | undefined
  /** Whether a payment buys the answer to the body it was first presented with, and to no other. @defaultValue false */
  readonly bindsBody?: boolean | undefined
  /** Reads `payload.payload`, with what belongs to it in `payload.extensions`, or says what is wrong with its shape, for the developer of the client. */
  decode(
    payload: PaymentPayload['payload'],
    extensions?: PaymentPayload['extensions'],
  ): Parsed<PaymentFacts>
}

/** By the names of schemes. */
export type PayloadFormats = ReadonlyMap<string, PayloadFormat>

/** A client's payment. Unreadable parts carry their errors. */
export interface DecodedPayload {
  /** As the client sent it. */
  readonly payload: PaymentPayload
  /** That of its scheme. `undefined` for one that is not spoken here. */
  readonly format: PayloadFormat | undefined
  /** `payload.accepted`: the entry of `accepts` that the payer chose. */
  readonly accepted: Parsed<PaymentRequirements>
  /** `payload.payload`. Of a scheme that is not spoken here, nothing is known. */
  readonly read: Parsed<PaymentFacts>
  /** The payer's id for it (extension `payment-identifier`). */
  readonly paymentId: Parsed<string | undefined>
}

/** A payment, and the entry of `accepts` to verify it against. */
export interface Payment extends Omit<DecodedPayload, 'read'> {
  readonly requirements: PaymentRequirements
  /** `undefined` if the requirements name no EVM chain. */
  readonly network: Network | undefined
  /** `undefined` if it is unreadable. */
  readonly facts: PaymentFacts | undefined
  /** Its key in the ledger; `undefined` without a network, or if it is unreadable. */
  readonly key: PaymentKey | undefined
}

/** A payment that could be read, on a network that we know. */
export interface ReadablePayment extends Payment {
  readonly facts: PaymentFacts
  readonly key: PaymentKey
}

export function isReadable(payment: Payment): payment is ReadablePayment {
  return payment.facts !== undefined && payment.key !== undefined
}

export function decodePayload(payload: PaymentPayload, formats: PayloadFormats): DecodedPayload {
  const accepted = parsePaymentRequirements(payload.accepted)
  const format = accepted.ok ? formats.get(accepted.value.scheme) : undefined
  const read =
    format?.decode(payload.payload, payload.extensions) ?? ({ ok: false, errors: [] } as const)
  return { payload, format, accepted, read, paymentId: readPaymentId(payload) }
}

/** Pairs a decoded payment with the entry of `accepts` to verify it against. */
export function paymentFor(
  { read, ...decoded }: DecodedPayload,
  requirements: PaymentRequirements,
): Payment {
  const network = findNetwork(requirements.network)
  const facts = read.ok ? read.value : undefined
  const key = facts && network && keyOf(facts, network, requirements.asset)
  return { requirements, network, facts, key, ...decoded }
}

export function decodePayment(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
  formats: PayloadFormats,
): Payment {
  return paymentFor(decodePayload(payload, formats), requirements)
}

function keyOf(
  { contract, payer, nonce }: PaymentFacts,
  { chainId }: Network,
  asset: string,
): PaymentKey {
  return { chainId, contract: contract ?? lowerHex(asset), from: payer, nonce }
}
