/** This gateway as a UCP payment handler: its name, its version, the URLs of its documents. */
import type { NetworkNameStyle } from '../protocol/networks.js'

/** Version of the handler: the date on which its documents last changed meaning. */
export const HANDLER_VERSION = '2026-11-21'

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

/**
 * Returns the URL that the documents of a handler are under.
 *
 * @param version - Selects the copies of that version, which never change. Without it, the URL of the
 * current documents.
 */
export function documentRoot({ docsUrl }: HandlerSite, version?: string): string {
  return version === undefined ? `${docsUrl}/ucp` : `${docsUrl}/ucp/${version}`
}

/** Writes the handler's entry in a business profile: what it is, and where its documents are. */
export function handlerDescriptor(site: HandlerSite) {
  return {
    id: site.id,
    version: HANDLER_VERSION,
    spec: `${documentRoot(site)}/gateway.md`,
    schema: `${documentRoot(site)}/schema.json`,
    available_instruments: [{ type: 'x402' }],
    config: {},
  }
}

/** Writes the handler's entry in a checkout; `config` is the x402 envelope that goes to the wallet. */
export function checkoutEntry<Config extends object>(id: string, config: Config) {
  return { id, version: HANDLER_VERSION, config }
}
