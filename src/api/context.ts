import type { Catalogue } from '../core/catalogue/catalogue.js'
import type { ReservingFacilitator } from '../core/facilitator/facilitator.js'
import type { OpenRequests } from '../shared/http/open-requests.js'
import type { RateLimitOptions } from '../shared/http/rate-limiter.js'
import type { OnceContext } from '../ledger/once/once.js'
import type { Counters } from '../ledger/counters.js'
import type { LedgerStore } from '../ledger/index.js'
import type { ProjectDirectory } from '../core/merchants/project-directory.js'
import type { QuoteSigner } from '../core/quotes/signed-quote.js'
import type { Asset } from '../shared/money/assets.js'
import type { RateSource } from '../shared/money/rates.js'
import type { NetworkNameStyle } from '../shared/protocol/networks.js'
import type { ReceiverRules } from '../operate/webhooks/receiver-url.js'
import type { Downloads } from './settlements/download/downloads.js'
import type { RevenueReader } from './settlements/views/revenue-reader.js'

export interface RouterContext extends OnceContext {
  readonly facilitator: ReservingFacilitator
  readonly ledger: LedgerStore
  readonly directory: ProjectDirectory
  /** The requests that are waited for when the gateway closes. */
  readonly requests: OpenRequests
  /** What happens, by day and project. */
  readonly counters: Counters
  readonly revenue: RevenueReader
  /** What was sold. */
  readonly catalogue: Catalogue
  readonly downloads: Downloads
  readonly rates: RateSource
  readonly quotes: QuoteSigner
  readonly networkNames: NetworkNameStyle
  /** Tokens that this process settles itself: none with a remote facilitator. */
  readonly settledAssets: readonly Asset[]
  readonly handlerId: string
  /** Root URL of the app, and that of the handler's documents; without them, from each request. */
  readonly publicUrl?: string | undefined
  readonly docsUrl?: string | undefined
  readonly rateLimit: RateLimitOptions | false
  readonly webhooks: ReceiverRules
  /** Tells that there is a webhook to deliver, for one endpoint that somebody has looked after. */
  readonly wakeWebhooks?: (endpoint?: string) => void
  /** Whether the app has the gateway's probes, somewhere. */
  readonly hasProbes?: () => boolean
  /** Milliseconds since the epoch. */
  readonly now: () => number
}
