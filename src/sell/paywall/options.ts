import { z } from 'zod'
import type { Branding } from '../../core/merchants/project.js'
import { paywallNetworksSchema, publicUrl, resolveNetworks } from './networks.js'
import type { PaywallNetwork, PaywallNetworks } from './networks.js'
import { translations } from './texts/translations.cjs'
import type { PaywallTextKey } from './texts/paywall-texts.js'
import { isPaywallLocale, languages } from './texts/languages.js'

export type { PaywallNetwork, PaywallTextKey }

/**
 * The payment page, which browsers get instead of a 402 in JSON.
 *
 * @example
 * ```ts
 * import type { PaywallOptions } from 'express-x402-gateway'
 *
 * const paywall: PaywallOptions = {
 *   name: 'The Daily Example',
 *   logo: '/assets/logo.svg',
 *   accent: '#0b5d4d',
 *   texts: { heading: 'This article costs a little' },
 * }
 * ```
 */
export interface PaywallOptions {
  /** Name of the seller. @defaultValue the merchant's name */
  readonly name?: string
  /**
   * A picture: a path of the app (`/logo.svg`) or a `data:` URL of at most 64 kB. The page loads nothing
   * from other hosts. @defaultValue none
   */
  readonly logo?: string
  /** Colour of the buttons: `#0b5d4d`. Their text is black or white, whichever is readable. */
  readonly accent?: string
  /**
   * Language and number format: `en`, `de`, `es`, `fr`, `pt`, `zh`, `ja` or `ko`, with or without a region
   * (`de-AT`).
   * @defaultValue chosen by each request's `Accept-Language`
   */
  readonly locale?: string
  /** Replacements for the page's texts, in every language. @defaultValue none */
  readonly texts?: { readonly [Key in PaywallTextKey]?: string }
  /** URL of a page where people get the token: it is linked where one has no wallet, or too little in it. */
  readonly onRamp?: string
  /**
   * Facts for wallets that do not know a network, by short name or CAIP-2 id: `eip155:31337`.
   * @defaultValue public endpoints of networks with a short name; for others, the page names the network
   * to add by hand
   */
  readonly networks?: { readonly [network: string]: PaywallNetwork }
}

const MAX_LOGO_LENGTH = 64 * 1024
const MAX_TEXT_LENGTH = 1000

/** A path of the same origin: `//host` and `/\host` would be another host. */
const OWN_PATH = /^\/(?![/\\])[^\s"'<>]*$/

const DATA_URL = /^data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)[;,][^\s"<>]*$/i

const text = z.string().min(1).max(MAX_TEXT_LENGTH)

/** The look of a page, which merchants may have as well. */
const look = {
  logo: z
    .string()
    .max(MAX_LOGO_LENGTH)
    .refine(
      (logo) => OWN_PATH.test(logo) || DATA_URL.test(logo),
      "must be a path of the app, like '/logo.svg', or a data: URL of a picture",
    )
    .optional(),
  accent: z
    .string()
    .regex(/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i, "must be a colour like '#0b5d4d'")
    .optional(),
  texts: z
    .strictObject(
      Object.fromEntries(
        Object.keys(translations.en).map((key) => [key, text.optional()]),
      ) as Readonly<Record<PaywallTextKey, z.ZodOptional<typeof text>>>,
    )
    .optional(),
}

/** Most bytes of a merchant's branding: every gateway keeps those of all merchants in memory. */
const MAX_BRANDING_BYTES = 16 * 1024

/** The option `branding` of a merchant. */
export const brandingSchema = z
  .strictObject(look)
  .refine(
    (branding) => Buffer.byteLength(JSON.stringify(branding)) <= MAX_BRANDING_BYTES,
    'must have at most 16 KiB in all, with its logo and texts',
  )

/** The option `paywall`, of a route and of the gateway. */
export const paywallSchema = z.union([
  z.literal(false),
  z.strictObject({
    name: text.optional(),
    ...look,
    locale: z
      .string()
      .refine(
        isPaywallLocale,
        `must be one of ${Object.keys(languages).join(', ')}, with or without a region`,
      )
      .optional(),
    onRamp: publicUrl.optional(),
    networks: paywallNetworksSchema.optional(),
  }),
])

/** Settings of a route's page. */
export type ResolvedPaywall = Omit<PaywallOptions & OwnLook, 'texts' | 'networks'> & {
  readonly texts: Partial<Record<PaywallTextKey, string>>
  readonly networks: PaywallNetworks
}

/** The option after validation. */
export type CheckedPaywall = z.output<typeof paywallSchema>

/** What only pages have that the gateway declares itself. */
interface OwnLook {
  /** Where people go who do not want to pay, or have paid before. @defaultValue nowhere */
  readonly backUrl?: string | undefined
  /** Whether it is a payment link, which buys nothing that could be shown. @defaultValue false */
  readonly isLink?: boolean
}

/** The option of a route. */
export type RoutePaywall = false | (Exclude<CheckedPaywall, false> & OwnLook)

/**
 * Completes the option of a route with the merchant's look, and with the gateway's.
 *
 * @returns `undefined` if browsers get JSON too.
 */
export function resolvePaywall(
  ofRoute: RoutePaywall | undefined,
  ofGateway: CheckedPaywall,
  ofMerchant: Branding = {},
): ResolvedPaywall | undefined {
  if (ofRoute === false || (ofRoute === undefined && ofGateway === false)) return undefined
  const { texts: general, networks: known, ...gateway } = ofGateway || {}
  const { texts: ofSeller, ...merchant } = ofMerchant
  const { texts: own, networks: added, ...route } = ofRoute ?? {}
  return {
    ...given({ ...gateway, ...given(merchant), ...given(route) }),
    texts: given({ ...general, ...given(ofSeller ?? {}), ...given(own ?? {}) }),
    networks: new Map([...resolveNetworks(known ?? {}), ...resolveNetworks(added ?? {})]),
  }
}

/** Drops members that are `undefined`. */
function given<T extends object>(options: T): { [Name in keyof T]: NonNullable<T[Name]> } {
  const members = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(members) as { [Name in keyof T]: NonNullable<T[Name]> }
}
