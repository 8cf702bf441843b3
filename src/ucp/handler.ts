/** This gateway as a UCP payment handler: its name, its version, the URLs of its documents. */
import type { NetworkNameStyle } from '../protocol/networks.js'

/** Version of the handler: the date on which its documents last changed meaning. */
export const HANDLER_VERSION = '2026-11-21'

/** `type` of the instruments that pay through this handler, and of their credentials. */
export const INSTRUMENT_TYPE = 'x402'

/** Version of UCP whose schemas ours extend. Documents that fit it also fit 2026-01-23. */
export const UCP_VERSION = '2026-04-08'

/** Name and location of a handler. */
export interface HandlerSite {
  /** Reverse-domain name, which is also the `id` of the handler's entries. */
  readonly id: string
  /** Root URL under which `/ucp/…` is published. */
  readonly docsUrl: string
}

/** Everything that the documents of a handler depend on. */
export interface Handler extends HandlerSite {
  readonly networkNames: NetworkNameStyle
}

/** The documents of a handler. */
export type HandlerDocument = 'schema.json' | 'instrument_schema.json' | 'gateway.md'

/**
 * Returns the URL of a document.
 *
 * @param version - Selects the copy of that version, which never changes. Without it, the URL of the
 * current document.
 */
export function documentUrl(
  { docsUrl }: HandlerSite,
  document: HandlerDocument,
  version?: string,
): string {
  return [docsUrl, 'ucp', version, document].filter((part) => part !== undefined).join('/')
}

/** One entry of a business profile's `payment_handlers`. */
export interface HandlerDescriptor {
  readonly id: string
  readonly version: string
  /** The human-readable specification. */
  readonly spec: string
  /** The JSON schema. */
  readonly schema: string
  readonly available_instruments: readonly { readonly type: string }[]
  readonly config: object
}

/** Writes the handler's entry in a business profile. */
export function handlerDescriptor(site: HandlerSite): HandlerDescriptor {
  return {
    id: site.id,
    version: HANDLER_VERSION,
    spec: documentUrl(site, 'gateway.md'),
    schema: documentUrl(site, 'schema.json'),
    available_instruments: [{ type: INSTRUMENT_TYPE }],
    config: {},
  }
}

/** One entry of a checkout's `payment_handlers`. */
export interface CheckoutEntry<Config extends object> {
  readonly id: string
  readonly version: string
  /** The x402 envelope that goes to the wallet. */
  readonly config: Config
}

/** Writes the handler's entry in a checkout. */
export function checkoutEntry<Config extends object>(
  id: string,
  config: Config,
): CheckoutEntry<Config> {
  return { id, version: HANDLER_VERSION, config }
}

/** Returns the URL of one of UCP's own schemas. */
export function ucpSchema(path: string): string {
  return `https://ucp.dev/${UCP_VERSION}/schemas/${path}`
}
