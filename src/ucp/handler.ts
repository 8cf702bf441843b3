/** The UCP payment handler that this gateway is: its name, its version, its documents' addresses. */
import type { NetworkNameStyle } from '../protocol/networks.js'

/** Version of the handler: the day its documents last changed meaning. */
export const HANDLER_VERSION = '2026-11-21'

/** The kind of instrument that pays through this handler, and of the credential in it. */
export const INSTRUMENT_TYPE = 'x402'

/** Version of UCP whose schemas ours are composed with; what fits them fits 2026-01-23 as well. */
export const UCP_VERSION = '2026-04-08'

/** What the descriptors of a handler are made from. */
export interface HandlerSite {
  /** Its name, which is also the `id` of its entries. */
  readonly id: string
  /** Root URL under which `/ucp/…` is published. */
  readonly docsUrl: string
}

/** What the documents of a handler are made from. */
export interface Handler extends HandlerSite {
  readonly networkNames: NetworkNameStyle
}

/** The documents of a handler. */
export type HandlerDocument = 'schema.json' | 'instrument_schema.json' | 'gateway.md'

/**
 * Where a document is published.
 *
 * @param version - For the copy that never changes again; left out, whatever is current.
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

/** Describes the handler, as business profiles carry it. */
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

/** Writes the handler's entry in one checkout. */
export function checkoutEntry<Config extends object>(
  id: string,
  config: Config,
): CheckoutEntry<Config> {
  return { id, version: HANDLER_VERSION, config }
}

/** The URL of one of UCP's own schemas. */
export function ucpSchema(path: string): string {
  return `https://ucp.dev/${UCP_VERSION}/schemas/${path}`
}
