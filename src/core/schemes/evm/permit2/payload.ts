/** `payload` of a payment by Permit2, and the approval that may come with it. */
import { z } from 'zod'
import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import { parseDocument, type Parsed } from '../../../../shared/protocol/document.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import { parseUint256, UINT256_LIMIT } from '../../../../shared/protocol/primitives.js'
import { address, signature, uint256 } from '../../../../shared/protocol/wire-schemas.js'
import { PERMIT2 } from '../transfer/address.js'

/** The specification writes nonces as hexadecimal numbers, `@x402/evm` as decimal ones. */
const nonce = z.string().refine((text) => readNonce(text) !== undefined, {
  error:
    'must be a number below 2^256: decimal without leading zeros, or 0x and hexadecimal digits',
})

const payloadSchema = z.looseObject({
  signature,
  permit2Authorization: z.looseObject({
    from: address,
    permitted: z.looseObject({ token: address, amount: uint256 }),
    spender: address,
    nonce,
    deadline: uint256,
    witness: z.looseObject({ to: address, facilitator: address.optional(), validAfter: uint256 }),
  }),
})

/** What the payer has signed (`PermitWitnessTransferFrom`) beside the facts. Addresses are lower case. */
export interface SignedPermit {
  readonly token: Address
  readonly spender: Address
  /** Who may call a spender that meters. */
  readonly facilitator: Address | undefined
  /** As sent, in lower case. */
  readonly signature: Hex
  /** The payment's extensions, which the signature does not cover: an approval of Permit2 may be among them. */
  readonly extensions: unknown
}

export function isPermit2Payload(payload: Readonly<Record<string, unknown>>): boolean {
  return payload['permit2Authorization'] !== undefined
}

/**
 * Reads it, or says what is wrong with its shape.
 *
 * @param extensions - Of the payment.
 */
export function readPermit(payload: unknown, extensions?: unknown): Parsed<PaymentFacts> {
  const parsed = parseDocument(payloadSchema, payload)
  if (!parsed.ok) return parsed
  const { from, permitted, spender, deadline, witness, ...rest } = parsed.value.permit2Authorization
  const signed: SignedPermit = {
    token: lowerHex(permitted.token),
    spender: lowerHex(spender),
    facilitator: witness.facilitator === undefined ? undefined : lowerHex(witness.facilitator),
    signature: lowerHex(parsed.value.signature),
    extensions,
  }
  const facts: PaymentFacts = {
    payer: lowerHex(from),
    payTo: lowerHex(witness.to),
    amount: BigInt(permitted.amount),
    validAfter: BigInt(witness.validAfter),
    validBefore: BigInt(deadline),
    contract: PERMIT2,
    nonce: `0x${BigInt(rest.nonce).toString(16).padStart(64, '0')}`,
    signed,
  }
  return { ok: true, value: facts }
}

function readNonce(text: string): bigint | undefined {
  if (!/^0x[0-9a-fA-F]{1,64}$/.test(text)) return parseUint256(text)
  const value = BigInt(text)
  return value < UINT256_LIMIT ? value : undefined
}

export function signedPermitOf({ signed }: PaymentFacts): SignedPermit {
  return signed as SignedPermit
}
