import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { RedeemWithoutProof } from '../ledger/purchase.js'
import type { Asset } from '../money/assets.js'
import type { Decimal } from '../money/decimal.js'
import type { Address } from '../protocol/payment.js'
import { sameNetwork } from '../protocol/networks.js'

/** Who is paid, in what, and on which terms. */
export interface Merchant {
  /** Id of the project it belongs to. */
  readonly project: string
  readonly name?: string | undefined
  readonly payTo: Address
  /** Currency of prices that name none (ISO 4217). */
  readonly currency: string
  /** Tokens it takes, in the order in which they are offered. */
  readonly accepts: readonly Asset[]
  /** Whether tokens of other currencies are offered too, through a rate. */
  readonly crossCurrency: boolean
  /** Added to amounts that come from a rate, in hundredths of a percent. */
  readonly fxBufferBps: number
  /** Least and highest price it takes, in its currency. */
  readonly minAmount?: Decimal | undefined
  readonly maxAmount?: Decimal | undefined
  /** Seconds a payer should let an authorization live. */
  readonly maxTimeoutSeconds: number
  /** Whether the API repeats its answer to a payment that comes again with its own id. */
  readonly repeatSettlements: boolean
  /** Who redeems an open payment that nothing proves to be his. */
  readonly redeemWithoutProof: RedeemWithoutProof
}

/** A tenant of the gateway: its secret tokens and, once configured, its merchant. */
export interface Project {
  readonly id: string
  /** SHA-256 of each identify token. */
  readonly tokenHashes: readonly Buffer[]
  readonly merchant?: Merchant | undefined
}

/** Marks a token that is kept as its SHA-256 only. */
const HASHED = /^sha256:(.*)$/i

const SHA256_HEX = /^[0-9a-f]{64}$/i

/** Fewest characters of a token that is not hashed. */
export const MIN_TOKEN_LENGTH = 16

/** A new identify token: 256 random bits. */
export function createToken(): string {
  return `x402_${randomBytes(32).toString('base64url')}`
}

/** The form in which a configuration can keep a token without knowing it. */
export function hashToken(token: string): string {
  return `sha256:${sha256(token).toString('hex')}`
}

/**
 * Reads a token of the configuration, hashed or plain.
 *
 * @returns Its SHA-256; `undefined` for a broken hash, and for a token too short to be secret.
 */
export function parseConfiguredToken(text: string): Buffer | undefined {
  const hash = HASHED.exec(text)?.[1]
  if (hash !== undefined) return SHA256_HEX.test(hash) ? Buffer.from(hash, 'hex') : undefined
  return text.length < MIN_TOKEN_LENGTH ? undefined : sha256(text)
}

/** Finds the project of a token; every hash is compared, each in constant time. */
export function findProjectByToken(
  projects: readonly Project[],
  token: string,
): Project | undefined {
  const presented = sha256(token)
  let found: Project | undefined
  for (const project of projects)
    for (const hash of project.tokenHashes) if (timingSafeEqual(hash, presented)) found = project
  return found
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

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
