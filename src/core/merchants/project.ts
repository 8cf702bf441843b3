import { timingSafeEqual } from 'node:crypto'
import type { PausedBy, StoredProject } from '../../ledger/projects.js'
import type { RedeemWithoutProof } from '../../ledger/purchase.js'
import type { Asset } from '../../shared/money/assets.js'
import type { Decimal } from '../../shared/money/decimal.js'
import type { DocumentError, Parsed } from '../../shared/protocol/document.js'
import type { Address } from '../../shared/protocol/payment.js'
import { sameNetwork } from '../../shared/protocol/networks.js'

/** How pages look where a merchant is paid. */
export interface Branding {
  readonly logo?: string | undefined
  readonly accent?: string | undefined
  /** By the names of the page's texts. */
  readonly texts?: { readonly [key: string]: string | undefined } | undefined
}

/** A payee and their terms. */
export interface Merchant {
  readonly project: string
  readonly name?: string | undefined
  readonly payTo: Address
  /** Currency of prices without one (ISO 4217). */
  readonly currency: string
  readonly accepts: readonly Asset[]
  /** Whether tokens of other currencies are offered too, at a rate. */
  readonly crossCurrency: boolean
  /** Surcharge on converted amounts, in hundredths of a percent. */
  readonly fxBufferBps: number
  /** Lowest price, in the merchant's currency. */
  readonly minAmount?: Decimal | undefined
  /** Highest price, in the merchant's currency. */
  readonly maxAmount?: Decimal | undefined
  /** How long an authorization should be valid (s). */
  readonly maxTimeoutSeconds: number
  /** Whether open payments may be redeemed without proof of having made them. */
  readonly redeemWithoutProof: RedeemWithoutProof
  readonly branding?: Branding | undefined
  /** Whether nothing new is taken for now. */
  readonly paused?: true | undefined
  /** Whether catalogues list what was sold, and at which origins of other servers. @defaultValue true */
  readonly listed?: boolean | readonly string[] | undefined
  /** Whether payments of x402 version 1 are taken, too. */
  readonly v1: boolean
}

/** Whether a project lists what another server sells at this URL. */
export const listsOrigin = ({ listed }: Pick<Merchant, 'listed'>, url: string): boolean =>
  typeof listed === 'object' && listed.includes(new URL(url).origin)

/** A tenant of the gateway: its identify tokens and, once configured, its merchant. */
export interface Project {
  readonly id: string
  readonly tokenHashes: readonly Buffer[]
  readonly merchant?: Merchant | undefined
  /** The merchant as configured (`MerchantOptions`). */
  readonly settings?: object | undefined
  /** As in its options. */
  readonly gasBudget?: number | undefined
  /** Who has paused it; nobody, while it takes payments. */
  readonly pausedBy?: PausedBy | undefined
  /** Its row, if it is one of the ledger. */
  readonly stored?: StoredProject | undefined
  /** Why its settings make no merchant under this configuration. */
  readonly errors?: readonly DocumentError[] | undefined
}

export type ReadMerchant = (settings: unknown, project: string) => Parsed<Merchant>

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

export function merchantsOf(projects: readonly Project[]): ReadonlyMap<string, Merchant> {
  return new Map(projects.flatMap(({ id, merchant }) => (merchant ? [[id, merchant]] : [])))
}

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
