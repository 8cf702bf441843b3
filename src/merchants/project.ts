import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { RedeemWithoutProof } from '../ledger/purchase.js'
import type { Asset } from '../money/assets.js'
import type { Decimal } from '../money/decimal.js'
import type { Parsed } from '../protocol/document.js'
import type { Address } from '../protocol/payment.js'
import { sameNetwork } from '../protocol/networks.js'

/** Who is paid, in what, and on which terms. */
export interface Merchant {
  /** Id of the project that the merchant belongs to. */
  readonly project: string
  readonly name?: string | undefined
  readonly payTo: Address
  /** Currency of prices that name none (ISO 4217). */
  readonly currency: string
  /** Tokens the merchant takes, in the order in which they are offered. */
  readonly accepts: readonly Asset[]
  /** Whether tokens of other currencies are offered too, through a rate. */
  readonly crossCurrency: boolean
  /** Added to amounts that come from a rate, in hundredths of a percent. */
  readonly fxBufferBps: number
  /** Lowest price, in the merchant's currency. */
  readonly minAmount?: Decimal | undefined
  /** Highest price, in the merchant's currency. */
  readonly maxAmount?: Decimal | undefined
  /** Seconds a payer should let an authorization live. */
  readonly maxTimeoutSeconds: number
  /** Whether the API repeats the result of a payment that comes again with its `payment-identifier`. */
  readonly repeatSettlements: boolean
  /** Who may redeem an open payment without proof of having made it. */
  readonly redeemWithoutProof: RedeemWithoutProof
}

/** A tenant of the gateway: its identify tokens and, once configured, its merchant. */
export interface Project {
  readonly id: string
  /** SHA-256 of each identify token. */
  readonly tokenHashes: readonly Buffer[]
  readonly merchant?: Merchant | undefined
  /** The merchant as it was written, in the form of `MerchantOptions`. */
  readonly settings?: object | undefined
}

/** Reads a merchant as it is written in the configuration. */
export type ReadMerchant = (settings: unknown, project: string) => Parsed<Merchant>

/** A token that is configured by its SHA-256. */
const HASHED = /^sha256:(.*)$/i

const SHA256_HEX = /^[0-9a-f]{64}$/i

/** Fewest characters of a token that is configured in plain text. */
export const MIN_TOKEN_LENGTH = 16

/** Creates an identify token of 256 random bits. */
export function createToken(): string {
  return `x402_${randomBytes(32).toString('base64url')}`
}

/** Hashes a token into the form that a configuration can hold instead of the token. */
export function hashToken(token: string): string {
  return `sha256:${digestToken(token).toString('hex')}`
}

/**
 * Reads a token of the configuration, hashed or in plain text.
 *
 * @returns Its SHA-256; `undefined` for an invalid hash, and for a token too short to be secret.
 */
export function parseConfiguredToken(text: string): Buffer | undefined {
  const hash = HASHED.exec(text)?.[1]
  if (hash !== undefined) return SHA256_HEX.test(hash) ? Buffer.from(hash, 'hex') : undefined
  return text.length < MIN_TOKEN_LENGTH ? undefined : digestToken(text)
}

/**
 * Finds the project of a token. All hashes are compared, each in constant time.
 *
 * @param presented - SHA-256 of the token.
 */
export function findProjectByHash(
  projects: readonly Project[],
  presented: Buffer,
): Project | undefined {
  let found: Project | undefined
  for (const project of projects)
    for (const hash of project.tokenHashes) if (timingSafeEqual(hash, presented)) found = project
  return found
}

/** The merchants of projects, by the ids of the projects. */
export function merchantsOf(projects: readonly Project[]): ReadonlyMap<string, Merchant> {
  return new Map(projects.flatMap(({ id, merchant }) => (merchant ? [[id, merchant]] : [])))
}

/** Finds a token that a merchant takes, by network and by address or symbol. */
export function findAcceptedAsset(
  merchant: Pick<Merchant, 'accepts'>,
  wanted: { network: string; asset: string },
): Asset | undefined {
  return merchant.accepts.find(
    ({ network, address, symbol }) =>
      sameNetwork(network.caip2, wanted.network) &&
      (address.toLowerCase() === wanted.asset.toLowerCase() || symbol === wanted.asset),
  )
}

/** The SHA-256 of a token, by which tokens are compared. */
export function digestToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
