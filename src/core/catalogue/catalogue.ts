import { sha256 } from '../../shared/crypto/sha256.js'
import type { LedgerStore } from '../../ledger/index.js'
import {
  RESOURCES_OF_PAGE,
  RESOURCES_OF_PROJECT,
  type ResourceSales,
  type SoldResource,
} from '../../ledger/resources.js'
import type { Logger } from '../../shared/logger.js'
import type { PaymentRequirements, ResourceInfo } from '../../shared/protocol/payment.js'
import type { Bazaar } from './bazaar.js'
import { listingOf, type Listing } from './listing.js'
import { world } from '../../shared/world.js'

/** Time between two writes (ms). A process that dies loses its sales since the last one. */
const FLUSH_MS = 1000

/** How long a catalogue that was read is good for (ms). With the time above: a sale is listed within 5 s. */
const FRESH_MS = 2000

/** Reads go back so far (ms): a sale is committed a moment after the time that is written with it. */
const OVERLAP_MS = 10_000

/** Resources that are listed at most: those that were sold last. */
const MAX_LISTED = 10_000

/** Resources that a search looks at in one turn of the event loop. */
const SLICE = 250

/** Resources whose sales are kept in memory at most, if the ledger cannot be written for long. */
const MAX_KEPT = 5000

export interface Sale {
  readonly project: string
  readonly method: string
  readonly resource: ResourceInfo
  readonly bazaar: Bazaar | undefined
  readonly entry: PaymentRequirements
}

export interface ListedResource extends Omit<SoldResource, 'listing'> {
  readonly listing: Listing
  /** What searches look into, in lower case. */
  readonly words: string
}

export interface CatalogueOptions {
  readonly store: LedgerStore['resources']
  readonly logger: Logger
}

/**
 * The catalogue of sold resources.
 *
 * Noting a sale changes a map. Every second, sales are added to the ledger's in one statement. However many
 * readers there are, what was sold since the last look is read once in two seconds, and searched in slices:
 * nobody who asks takes the event loop.
 */
export class Catalogue {
  readonly #options: CatalogueOptions
  #sales = new Map<string, Sales>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()
  #isLogged = false
  /** The most often sold first. */
  #listed: readonly ListedResource[] = []
  /** From when on the ledger is read next, by its clock. */
  #since = 0
  #readAt = -Infinity
  #reading: Promise<void> | undefined
  #turns: Promise<unknown> = Promise.resolve()

  constructor(options: CatalogueOptions) {
    this.#options = options
  }

  note({ project, method, resource, bazaar, entry }: Sale): void {
    // An app in JavaScript may name it by a `URL`. It has been delivered: nothing may fail here any more.
    const named: unknown = resource.url
    const [url = ''] = String(named).split(/[?#]/, 1)
    this.noteListing(project, listingOf(url, resource, { method, bazaar, entry }))
  }

  /**
   * Notes a sale.
   *
   * @param claimed - 1 if the listing is what the buyer says of it.
   */
  noteListing(project: string, listing: Listing, claimed: 0 | 1 = 0): void {
    const { resource, method = '', type } = listing
    const key = JSON.stringify([project, type, method, resource])
    const before = this.#sales.get(key)
    if (before === undefined ? this.#sales.size >= MAX_KEPT : claimed && !saysSo(before, listing))
      return
    const count = (before?.count ?? 0) + 1
    this.#sales.set(key, { project, listing, claimed, count })
    this.#timer ??= world.setTimeout(() => void this.flush(), FLUSH_MS).unref()
  }

  /**
   * Finds resources, the most often sold first.
   *
   * @param most - How many are enough.
   */
  async find(
    matches: (one: ListedResource) => boolean,
    most = Infinity,
  ): Promise<readonly ListedResource[]> {
    if (world.elapsed() - this.#readAt > FRESH_MS)
      this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    await this.#reading
    const listed = this.#listed
    const found: ListedResource[] = []
    for (let start = 0; start < listed.length && found.length < most; start += SLICE) {
      await this.#nextTurn()
      found.push(...listed.slice(start, start + SLICE).filter(matches))
    }
    return found
  }

  /** Writes the sales. Never rejects: those that cannot be written now are written next time. */
  flush(): Promise<void> {
    world.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flushing = this.#flushing.then(() => this.#write())
    return this.#flushing
  }

  /** Waits for a turn of the event loop in which no other reader works. */
  #nextTurn(): Promise<unknown> {
    this.#turns = this.#turns.then(() => world.nextTurn())
    return this.#turns
  }

  async #read(): Promise<void> {
    await this.flush()
    const known = new Map(this.#listed.map((one) => [one.id, one]))
    let page: readonly SoldResource[] = []
    let first: SoldResource | undefined
    let count = 0
    do {
      await this.#nextTurn()
      page = await this.#options.store.listResources(this.#since, page.at(-1))
      for (const sold of page) known.set(sold.id, resourceOf(sold))
      first ??= page[0]
      count += page.length
    } while (page.length === RESOURCES_OF_PAGE && count < MAX_LISTED)
    if (first) {
      this.#since = first.readAt - OVERLAP_MS
      this.#listed = newestOf([...known.values()])
    }
    this.#readAt = world.elapsed()
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

interface Sales {
  readonly project: string
  readonly listing: Listing
  readonly claimed: 0 | 1
  readonly count: number
}

/** Whether a buyer has said the same before: the first stands, and the seller's own more so. */
const saysSo = (before: Sales, listing: Listing): boolean =>
  before.claimed === 1 && JSON.stringify(before.listing) === JSON.stringify(listing)

function rowOf([key, { listing, ...sales }]: readonly [string, Sales]): ResourceSales {
  return { id: sha256(key, 'base64url'), ...sales, listing: JSON.stringify(listing) }
}

function resourceOf(sold: SoldResource): ListedResource {
  const listing = JSON.parse(sold.listing) as Listing
  const { resource, description = '', tags = [] } = listing
  return { ...sold, listing, words: [resource, description, ...tags].join(' ').toLowerCase() }
}

/**
 * Those that were sold last, in all and of each project: the ledger forgets the others, too. What a buyer names gives
 * way first: it costs him a small sale.
 */
function newestOf(known: readonly ListedResource[]): readonly ListedResource[] {
  const counts = new Map<string, number>()
  const newest = known
    .toSorted((one, other) => one.claimed - other.claimed || other.soldAt - one.soldAt)
    .filter(({ project }) => {
      const count = (counts.get(project) ?? 0) + 1
      counts.set(project, count)
      return count <= RESOURCES_OF_PROJECT
    })
  return newest.slice(0, MAX_LISTED).toSorted((one, other) => other.count - one.count)
}
