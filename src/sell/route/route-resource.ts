/** What a route sells: its URL, what its 402 says about it, and its place in the catalogue. */
import { BazaarWriter, type Bazaar } from '../../core/catalogue/bazaar.js'
import type { Catalogue } from '../../core/catalogue/catalogue.js'
import type { Declaration } from '../../core/catalogue/declaration.js'
import type { Merchant } from '../../core/merchants/project.js'
import type { PaymentRequirements, ResourceInfo } from '../../shared/protocol/payment.js'
import type { RouteOptions } from './options.js'
import { pricedMethod, type RequestView } from './request-view.js'
import type { RouteWarnings } from './route-warnings.js'

export interface ResourceContext {
  readonly publicUrl?: string | undefined
  /** Lists what was sold. @defaultValue nothing is listed */
  readonly catalogue?: Pick<Catalogue, 'note'> | undefined
  /** What the route says about itself. @defaultValue nothing */
  readonly declaration?: Declaration | undefined
}

export type DescribedRequest = Pick<RequestView, 'method' | 'route'>

interface Sale {
  readonly view: DescribedRequest
  readonly merchant: Merchant
  readonly resource: ResourceInfo
  readonly bazaar: Bazaar | undefined
  /** What it was paid by. */
  readonly entry: PaymentRequirements
}

export class RouteResource {
  readonly #context: ResourceContext
  readonly #options: RouteOptions
  /** Writes what it takes and gives; `undefined` if the route declares nothing. */
  readonly #bazaar: BazaarWriter | undefined

  constructor(context: ResourceContext, options: RouteOptions, warnings: RouteWarnings) {
    const { declaration } = context
    this.#context = context
    this.#options = options
    this.#bazaar =
      declaration && new BazaarWriter(declaration, (bytes) => warnings.warnOfBazaar(bytes))
  }

  /** Whether its 402 depends on method and route of a request. */
  get isDeclared(): boolean {
    return this.#bazaar !== undefined
  }

  urlOf(view: RequestView): string {
    return this.#options.resourceUrl?.(view.req) ?? requestUrl(view, this.#context.publicUrl)
  }

  /** The URL of a request at its site. @returns Whether the gateway's own option names the site, too. */
  siteUrlOf(view: RequestView): { readonly uri: string; readonly isNamed: boolean } {
    const { publicUrl } = this.#context
    return { uri: requestUrl(view, publicUrl), isNamed: publicUrl !== undefined }
  }

  /** What is sold: the URL that the route declares, else that of the request, with any query. */
  placeOf(view: RequestView): string {
    const url = this.urlOf(view)
    return this.#options.resourceUrl === undefined ? url.replace(/\?.*/s, '') : url
  }

  at(url: string, argumentsHash?: string): ResourceInfo {
    const { description = '', mimeType, tags } = this.#options
    return {
      url,
      ...(argumentsHash !== undefined && { argumentsHash }),
      description,
      ...(mimeType !== undefined && { mimeType }),
      ...(tags !== undefined && { tags }),
    }
  }

  bazaarOf(view: DescribedRequest): Bazaar | undefined {
    return this.#bazaar?.write(pricedMethod(view), view.route)
  }

  /** Notes what was sold, for the catalogue. It has been delivered: nothing may fail here. */
  noteSale({ view, merchant, resource, bazaar, entry }: Sale): void {
    const { project, listed } = merchant
    const { route } = view
    const { catalogue, publicUrl } = this.#context
    const { resourceUrl } = this.#options
    // Without a route, the path may hold a buyer's own values.
    if (listed === false || (route === undefined && resourceUrl === undefined)) return
    // Without `publicUrl`, the buyer has named the host: the catalogue's reader names another.
    const url = resourceUrl === undefined ? `${publicUrl ?? ''}${route}` : resource.url
    catalogue?.note({
      project,
      method: pricedMethod(view),
      resource: { ...resource, url },
      bazaar,
      entry,
    })
  }
}

function requestUrl(view: RequestView, publicUrl: string | undefined): string {
  // A request line may contain an absolute URL (RFC 9112 §3.2.2).
  // Where its path is empty, its query may look like one.
  const path = view.url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i, '')
  return (publicUrl ?? view.origin) + path
}
