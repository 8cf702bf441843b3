/** Documents of x402 v2 as the payment gateway API writes them, and their parsers. */
import { z } from 'zod'
import { parseDocument, type Parsed } from './document.js'
import { fromPhp } from './php-object.js'
import type { Reason } from './reasons.js'
import { address, uint256 } from './wire-schemas.js'

/** The only supported protocol version. */
export const X402_VERSION = 2 as const

/** The scheme that takes exactly the amount. */
export const EXACT = 'exact'

/** The scheme that takes what is charged of a maximum. */
export const UPTO = 'upto'

/** Key of the extension by which a 402 says what its resource takes and gives. */
export const BAZAAR = 'bazaar'

/** `0x` and hexadecimal digits. */
export type Hex = `0x${string}`

/** Address of an account or a token; compared without case. */
export type Address = Hex

/** When the money moves: after the handler has answered (`authorization`), or before it runs (`upfront`). */
export type PaymentFlow = 'authorization' | 'upfront'

/** One way to pay: an entry of `accepts` (PaymentRequirement of the gateway API). */
export interface PaymentRequirements {
  /** `exact`, or `upto`, where the amount is a maximum. */
  readonly scheme: string
  /** CAIP-2 (`eip155:8453`) or short name (`base`). */
  readonly network: string
  /** In the token's atomic units, a decimal string without leading zeros: `'10000'` is 0.01 USDC. */
  readonly amount: string
  /** Address of the payee. */
  readonly payTo: string
  /** How long an authorization should be valid (s). */
  readonly maxTimeoutSeconds: number
  /** Address of the token's contract. */
  readonly asset: string
  /** EIP-712 domain of the token (`name`, `version`), which wallets need to sign. */
  readonly extra?: { readonly [member: string]: unknown } | null | undefined
  /** Always 2 if present. */
  readonly protocolVersion?: number | undefined
}

/** The paid resource. */
export interface ResourceInfo {
  /** Absolute URL. */
  readonly url: string
  /** Of a tool: fingerprint of the arguments that it is called with. A payment that echoes it buys no other call. */
  readonly argumentsHash?: string
  /** Description for people. */
  readonly description?: string
  /** Media type. */
  readonly mimeType?: string
  /** Words under which catalogues list it. */
  readonly tags?: readonly string[]
}

/** The document of a 402, and of `POST /api/v2/payment/requirements`. */
export interface PaymentRequired {
  /** Version of the protocol. */
  readonly x402Version: 2
  /** Why a payment is (still) required; absent in the gateway's requirements. */
  readonly error?: string
  /** If `error` is a reason: a readable message, whose text may change. */
  readonly errorMessage?: string
  /** The paid resource. */
  readonly resource: ResourceInfo
  /** Ways to pay, in the merchant's order. */
  readonly accepts: readonly PaymentRequirements[]
  /** Offered extensions by key; absent in the gateway's requirements. */
  readonly extensions?: { readonly [key: string]: unknown }
  /** `x402Version` under its name in the gateway API. */
  readonly protocolVersion: 2
}

/** A client's signed payment. */
export interface PaymentPayload {
  /** Version of the protocol; only 2 is accepted. */
  readonly x402Version: number
  /** The entry of `accepts` that the payer chose. */
  readonly accepted: { readonly [member: string]: unknown }
  /** Contents by scheme; for `exact` on EVM `signature` and `authorization` (ERC-3009). */
  readonly payload: { readonly [member: string]: unknown }
  /** The resource that the payer wants to pay for: `url` is compared. */
  readonly resource?: { readonly [member: string]: unknown } | null | undefined
  /** Extensions by key: `payment-identifier` is read. */
  readonly extensions?: { readonly [member: string]: unknown } | null | undefined
}

/** Body of verify and settle (PaymentSubmissionRequest2). */
export interface PaymentSubmission {
  readonly paymentPayload: PaymentPayload
  readonly paymentRequirements: PaymentRequirements
}

/** Answer of verify (VerifyResponse2): whether the payment could be settled now, and its payer. */
export type VerifyResponse =
  | {
      readonly isValid: true
      readonly payer: string
      /** What the scheme says beside that. */
      readonly extra?: { readonly [member: string]: unknown } | undefined
    }
  | {
      readonly isValid: false
      readonly invalidReason: Reason
      /** Readable reason. Its text may change. */
      readonly invalidMessage?: string | undefined
      readonly payer?: string | undefined
    }

/**
 * Answer of settle: whether the merchant was paid, the hash of the transaction, and the payer.
 * `transaction` is `""` if nothing was sent: of a success, because nothing was charged.
 *
 * @example
 * ```ts
 * import type { SettleResponse } from 'express-x402-gateway'
 *
 * const describe = (result: SettleResponse): string =>
 *   result.success ? `paid by ${result.transaction}` : `not paid: ${result.errorReason}`
 * ```
 */
export type SettleResponse =
  | {
      readonly success: true
      readonly transaction: string
      readonly network: string
      readonly payer: string
      /** What was charged, in the token's atomic units. Only of schemes whose price is a maximum. */
      readonly amount?: string | undefined
      /** What the scheme says beside that. */
      readonly extra?: { readonly [member: string]: unknown } | undefined
      /** By key. */
      readonly extensions?: { readonly [key: string]: unknown } | undefined
    }
  | {
      readonly success: false
      readonly errorReason: Reason
      /** Readable reason. Its text may change. */
      readonly errorMessage?: string | undefined
      /** `""` if this request sent nothing. */
      readonly transaction: string
      /** Transaction of an earlier settlement of this purchase, for the client of that settlement only. */
      readonly settledBy?: string | undefined
      readonly network: string
      readonly payer?: string | undefined
    }

/** Answer of `GET /api/v2/payment/supported`. */
export interface SupportedResponse {
  /** Each scheme on each network. */
  readonly kinds: readonly {
    readonly x402Version: 2
    readonly scheme: string
    readonly network: string
    /** What an offer must carry: `facilitatorAddress` of `upto`. */
    readonly extra?: { readonly [member: string]: unknown } | undefined
  }[]
  /** Keys of supported extensions. */
  readonly extensions: readonly string[]
  /** Addresses that send the transactions, by CAIP-2 pattern. */
  readonly signers: { readonly [pattern: string]: readonly string[] }
}

/** Entries of `accepts` in a PaymentRequired. */
export function withProtocolVersion<Entry extends PaymentRequirements>(accepts: readonly Entry[]) {
  return accepts.map((entry) => ({ ...entry, protocolVersion: X402_VERSION }))
}

const object = z.record(z.string(), z.unknown())

const optionalObject = fromPhp(object.nullish()).optional()

export const requirementsSchema = z.looseObject({
  scheme: z.string(),
  network: z.string(),
  amount: uint256,
  payTo: address,
  maxTimeoutSeconds: z.int().positive(),
  asset: address,
  extra: optionalObject,
  protocolVersion: z.int().optional(),
}) satisfies z.ZodType<PaymentRequirements>

const payloadSchema = z.looseObject({
  x402Version: z.int(),
  accepted: object,
  payload: object,
  resource: optionalObject,
  extensions: optionalObject,
}) satisfies z.ZodType<PaymentPayload>

export const submissionSchema = z.looseObject({
  paymentPayload: payloadSchema,
  paymentRequirements: requirementsSchema,
}) satisfies z.ZodType<PaymentSubmission>

const parserOf =
  <T>(schema: z.ZodType<T>) =>
  (value: unknown): Parsed<T> =>
    parseDocument(schema, value)

/** Whether a document names another version of x402. */
export function isOtherVersion(document: unknown): boolean {
  const version = versionOf(document)
  return Number.isInteger(version) && version !== X402_VERSION
}

/** `x402Version` of a document of any shape. */
export function versionOf(document: unknown): unknown {
  return typeof document === 'object' && document !== null && 'x402Version' in document
    ? document.x402Version
    : undefined
}

export const parsePaymentPayload = parserOf<PaymentPayload>(payloadSchema)

/** Reads an entry of `accepts`. */
export const parsePaymentRequirements = parserOf<PaymentRequirements>(requirementsSchema)

/** Reads the body of verify and settle. */
export const parsePaymentSubmission = parserOf<PaymentSubmission>(submissionSchema)
