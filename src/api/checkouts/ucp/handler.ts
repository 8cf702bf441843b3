/** This gateway as a UCP payment handler: name, version, URLs of its documents. */
import type { HandlerSite } from '../../../shared/protocol/ucp-authority.js'
import type { NetworkNameStyle } from '../../../shared/protocol/networks.js'

/** Date on which the meaning of the handler's documents last changed. */
export const HANDLER_VERSION = '2026-11-30'

/** UCP version that our schemas extend, and profiles have by default. */
export const UCP_VERSION = '2026-08-25'

/** Versions of UCP that the handler's documents are valid for. */
export const UCP_VERSIONS: readonly string[] = ['2026-04-08', UCP_VERSION]

export interface Handler extends HandlerSite {
  readonly networkNames: NetworkNameStyle
}

/**
 * Root URL of a handler's documents.
 *
 * @param version - Selects the unchanging copies of a version. @defaultValue the current documents
 */
export function documentRoot({ docsUrl }: HandlerSite, version?: string): string {
  return version === undefined ? `${docsUrl}/ucp` : `${docsUrl}/ucp/${version}`
}

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

/** Writes the handler's entry in a checkout; `config` is the x402 envelope for the wallet. */
export function checkoutEntry<Config extends object>(id: string, config: Config) {
  return { id, version: HANDLER_VERSION, config }
}
