import { sha256 } from '../crypto/sha256.js'
import type { LedgerStore } from '../ledger/index.js'
import type { ResourceSales, SoldResource } from '../ledger/resources.js'
import type { Logger } from '../logger.js'
import type { PaymentRequirements, ResourceInfo } from '../protocol/payment.js'
import type { Bazaar } from './bazaar.js'
import { listingOf, type Listing } from './listing.js'

/** Time between two writes (ms). A process that dies loses its sales since the last one. */
const FLUSH_MS = 1000

/** How long a catalogue that was read is good for (ms). With the time above: a sale is listed within 5 s. */
const FRESH_MS = 2000

/** Resources whose sales are kept in memory at most, if the ledger cannot be written for long. */
const MAX_KEPT = 5000

/** A sale in this process. */
export interface Sale {
  readonly project: string
  readonly method: string
  readonly resource: ResourceInfo
  readonly bazaar: Bazaar | undefined
  readonly entry: PaymentRequirements
}

/** A resource of the catalogue. */
export interface ListedResource extends Listing {
  readonly id: string
  readonly project: string
  readonly count: number
  readonly soldAt: number
}

/** Dependencies of {@link Catalogue}. */
export interface CatalogueOptions {
  readonly store: LedgerStore['resources']
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * The catalogue of sold resources.
 *
 * Noting a sale changes a map. Every second, sales are added to the ledger's in one statement. However many
 * readers there are, the ledger is read once in two seconds.
 */
export class Catalogue {
  readonly #options: CatalogueOptions
  #sales = new Map<string, Sales>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()
  #isLogged = false
  #read: { readonly at: number; readonly listed: Promise<readonly ListedResource[]> } | undefined

  constructor(options: CatalogueOptions) {
    this.#options = options
  }

  /** Notes a sale of our own app. */
  note({ project, method, resource, bazaar, entry }: Sale): void {
    // An app in JavaScript may name it by a `URL`. It has been delivered: nothing may fail here any more.
    const named: unknown = resource.url
    const [url = ''] = String(named).split(/[?#]/, 1)
    this.noteListing(project, listingOf(url, resource, { method, bazaar, entry }))
  }

  /** Notes a sale. */
  noteListing(project: string, listing: Listing): void {
    const { resource, method = '', type } = listing
    const key = JSON.stringify([project, type, method, resource])
    const before = this.#sales.get(key)
    if (before === undefined && this.#sales.size >= MAX_KEPT) return
    const count = (before?.count ?? 0) + 1
    this.#sales.set(key, { project, listing, count, soldAt: this.#options.now() })
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref()
  }

  /** Reads what was sold, the most often sold first. */
  async list(): Promise<readonly ListedResource[]> {
    const at = performance.now()
    if (this.#read === undefined || at - this.#read.at > FRESH_MS) {
      const listed = this.#load()
      this.#read = { at, listed }
      // A failure is not kept.
      listed.catch(() => (this.#read = undefined))
    }
    return this.#read.listed
  }

  /** Writes the sales. Never rejects: those that cannot be written now are written next time. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flushing = this.#flushing.then(() => this.#write())
    return this.#flushing
  }

  async #load(): Promise<readonly ListedResource[]> {
    await this.flush()
    const sold = await this.#options.store.listResources()
    return sold.map(resourceOf).toSorted((one, other) => other.count - one.count)
  }

  async #write(): Promise<void> {
    const { store, logger } = this.#options
    const sales = this.#sales
    if (sales.size === 0) return
    this.#sales = new Map()
    try {
      await store.addSales([...sales].map(rowOf))
      this.#isLogged = false
    } catch (error) {
      this.#keep(sales)
      if (!this.#isLogged)
        logger.warn(
          'The ledger could not store sales for the catalogue. The next write tries again.',
          {
            error,
          },
        )
      this.#isLogged = true
    }
  }

  #keep(sales: ReadonlyMap<string, Sales>): void {
    for (const [key, sale] of sales) {
      const later = this.#sales.get(key)
      if (later === undefined && this.#sales.size >= MAX_KEPT) continue
      this.#sales.set(key, { ...(later ?? sale), count: sale.count + (later?.count ?? 0) })
    }
  }
}

/** Sales of a resource that are not written yet. */
interface Sales {
  readonly project: string
  readonly listing: Listing
  readonly count: number
  readonly soldAt: number
}

function rowOf([key, { listing, soldAt, ...sales }]: readonly [string, Sales]): ResourceSales {
  const id = sha256(key, 'base64url')
  return { id, ...sales, listing: JSON.stringify(listing), sold_at: soldAt }
}

function resourceOf({ listing, ...sold }: SoldResource): ListedResource {
  return { ...(JSON.parse(listing) as Listing), ...sold }
}
