import type { Logger } from '../../shared/logger.js'
import {
  CLIENT_HEADER_BYTES,
  NGINX_REMEDY,
  PROXY_HEADER_BYTES,
} from '../../shared/protocol/headers.js'
import { visible } from '../../shared/protocol/visible-text.js'
import { formatBytes } from './header-size.js'
import type { RequestView } from './request-view.js'

/** Longest path or description that a warning repeats. */
const MAX_SHOWN = 80

/** A warning of a route. Each is given once. */
type Warning =
  'client_limits' | 'header' | 'long_header' | 'stream' | 'other_host' | 'bazaar' | 'answered'

/**
 * Tells the developer what is odd about a declared route: each thing once, however many requests, merchants
 * and URLs the route has.
 */
export class RouteWarnings {
  readonly #logger: Logger
  readonly #said = new Set<string>()
  /** Names the route where no request does: when it is declared. */
  readonly #declared: string | undefined
  /** Warnings of a route without a name yet. */
  readonly #waiting: ((name: string) => void)[] = []

  constructor(logger: Logger, description = '') {
    this.#logger = logger
    this.#declared = description === '' ? undefined : `The route '${shown(description)}'`
  }

  has(warning: Warning, project = ''): boolean {
    return this.#said.has(`${warning} ${project}`)
  }

  /** Gives the warnings that wait until a request names the route. */
  meet(view: RequestView): void {
    // Asked by each request: nothing is made where nothing waits.
    if (this.#waiting.length > 0)
      for (const give of this.#waiting.splice(0)) give(nameOfRoute(view))
  }

  /** @param words - The rest of the message, after the name of the route: that of a request to it, if there is one. */
  warn(warning: Warning, about: { view?: RequestView | undefined; words: string } & Fields): void {
    const { view, words, project, level = 'warn', ...fields } = about
    if (this.has(warning, project)) return
    this.#said.add(`${warning} ${project ?? ''}`)
    const give = (name: string): void =>
      this.#logger[level](`${name} ${words}`, { ...(project && { merchant: project }), ...fields })
    const name = view ? nameOfRoute(view) : this.#declared
    if (name === undefined) this.#waiting.push(give)
    else give(name)
  }

  /** Warns of a 402 whose header is too large for proxies, or for clients. */
  warnOfHeader(headerBytes: number, view?: RequestView): void {
    const size = `has a PAYMENT-REQUIRED header of ${formatBytes(headerBytes)} bytes`
    if (headerBytes > PROXY_HEADER_BYTES)
      this.warn('header', {
        view,
        words: `${size}: ${NGINX_REMEDY}. Or offer fewer tokens, or shorten the description.`,
        headerBytes,
      })
    if (headerBytes > CLIENT_HEADER_BYTES)
      this.warn('long_header', {
        view,
        words: `${size}: some clients refuse more than ${formatBytes(CLIENT_HEADER_BYTES)}. Offer fewer tokens, or shorten the description.`,
        headerBytes,
      })
  }

  warnOfBazaar(bytes: number): void {
    this.warn('bazaar', {
      words: `describes its input and output in ${formatBytes(bytes)} bytes, which clients cannot send back in a header: its 402 leaves the schemas out. Shorten them; the OpenAPI document has them whole.`,
    })
  }

  warnOfStream(view: RequestView, { isMetered }: { readonly isMetered: boolean }): void {
    const remedy = isMetered
      ? 'what was used is known only then. To stream, sell at a fixed price with'
      : 'set'
    this.warn('stream', {
      view,
      words: `streams, but its response is held until it is paid: ${remedy} paymentFlow: 'upfront', which settles the payment first.`,
    })
  }

  /** Reports that somebody answers without waiting for this middleware. */
  reportAnswered(view: RequestView): void {
    this.warn('answered', {
      view,
      level: 'error',
      words:
        "was answered, or had its headers sent, before x402Protect had asked for its payment: what was sent was free, and the rest is cut off. Give x402Protect to Express in front of the handler: app.get('/path', x402Protect('$0.01'), handler).",
    })
  }

  warnOfOtherHost(view: RequestView): void {
    this.warn('other_host', {
      view,
      words:
        'was presented a payment for the same path on another host, and refused it. If buyers reach it by another host or port, behind a proxy for example, set publicUrl or resourceUrl.',
    })
  }
}

interface Fields {
  /** @defaultValue `'warn'` */
  readonly level?: 'warn' | 'error'
  /** For warnings that are given once for each merchant. */
  readonly project?: string | undefined
  readonly headerBytes?: number
}

/** Names the route of a request: `GET /report/:id`. */
export function nameOfRoute({ method, route, mount }: RequestView): string {
  return `${method} ${shown(route ?? (mount || '/'))}`
}

/** A text as a log may show it: it may come from a request. */
function shown(text: string): string {
  const start = visible(text, MAX_SHOWN)
  return text.length > MAX_SHOWN ? `${start}…` : start
}
