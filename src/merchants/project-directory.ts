import { timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProjectStore } from '../ledger/index.js'
import type { StoredProject, StoredToken } from '../ledger/projects.js'
import type { Logger } from '../logger.js'
import { digestToken, findProjectByHash } from './project.js'
import type { Merchant, Project, ReadMerchant } from './project.js'
import { TokenUse } from './token-use.js'

/** Milliseconds between two polls for changes that were not announced. */
const POLL_MS = 400

/** The same while changes are announced: an announcement may be lost with a dead connection. */
const ANNOUNCED_POLL_MS = 700

/** Milliseconds from the start in which requests wait until projects were loaded for the first time. */
const FIRST_LOAD_MS = 3000

/** What a directory is made of. */
export interface DirectoryOptions {
  /** The projects of the configuration. */
  readonly projects: readonly Project[]
  /** Keeps other projects. Absent if there are none. */
  readonly store?: ProjectStore | undefined
  readonly readMerchant: ReadMerchant
  readonly logger: Logger
}

/** A project of the database, as it was read from one version of its row. */
interface ReadProject {
  readonly version: number
  readonly project: Project
}

interface ReadToken {
  readonly id: string
  readonly hash: Buffer
  readonly project: Project
}

/**
 * Finds projects: those of the configuration and those that the ledger keeps.
 *
 * Requests are answered from memory, which follows the database within a second. While the database does not
 * answer, what was known stays known. A project is replaced as a whole when it changes, so that a payment
 * under way keeps its terms.
 */
export class ProjectDirectory {
  readonly #options: DirectoryOptions
  readonly #configured: ReadonlyMap<string, Project>
  readonly #use: TokenUse | undefined
  readonly #startedAt = performance.now()
  readonly #ends: (() => void)[] = []
  #stored: ReadonlyMap<string, ReadProject> = new Map()
  #tokens: ReadonlyMap<string, ReadToken> = new Map()
  /** Number of the last change that is known; -1 before the first load. */
  #version = -1
  #lookedAt = -Infinity
  #isStale = true
  #refreshing: Promise<void> | undefined
  #isFailing = false
  #isClosed = false

  constructor(options: DirectoryOptions) {
    const { projects, store, logger } = options
    this.#options = options
    this.#configured = new Map(projects.map((project) => [project.id, project]))
    if (store === undefined) return
    this.#use = new TokenUse(store, logger)
    const timer = setInterval(() => this.#look(), POLL_MS).unref()
    const unwatch = store.watch(() => {
      this.#isStale = true
      this.#look()
    })
    this.#ends.push(unwatch, () => clearInterval(timer))
    this.#look()
  }

  /** Whether projects may come from elsewhere than the configuration. */
  get isOpen(): boolean {
    return this.#options.store !== undefined
  }

  /** Whether all projects were loaded at least once. */
  get isLoaded(): boolean {
    return !this.isOpen || this.#version >= 0
  }

  /** All projects that are known now: those of the configuration first, in its order. */
  get all(): readonly Project[] {
    const stored = [...this.#stored.values()].map(({ project }) => project)
    return [...this.configured, ...stored.filter(({ id }) => !this.isConfigured(id))]
  }

  /** The projects of the configuration, in its order. */
  get configured(): readonly Project[] {
    return this.#options.projects
  }

  /** Whether any project has an identify token now. */
  get hasTokens(): boolean {
    return (
      this.#tokens.size > 0 || this.configured.some((project) => project.tokenHashes.length > 0)
    )
  }

  /** Finds the project of an identify token. Hashes are compared in constant time. */
  findByToken(token: string): Project | undefined {
    const presented = digestToken(token)
    const configured = findProjectByHash(this.#options.projects, presented)
    if (configured !== undefined) return configured
    const found = this.#findStored(presented)
    if (found !== undefined) this.#use?.note(found.id)
    return found?.project
  }

  /** Finds the project of a token by the SHA-256 of the token. This does not count as a use of the token. */
  findByHash(hash: Buffer): Project | undefined {
    const configured = findProjectByHash(this.#options.projects, hash)
    return configured ?? this.#findStored(hash)?.project
  }

  /** Finds a project by its id. */
  find(id: string): Project | undefined {
    return this.#configured.get(id) ?? this.#stored.get(id)?.project
  }

  /** Finds the merchant that a route names. */
  findMerchant(id: string): Merchant | undefined {
    return this.find(id)?.merchant
  }

  /** Tells whether a project comes from the configuration. */
  isConfigured(id: string): boolean {
    return this.#configured.has(id)
  }

  /** Waits for the first load, for a moment after the start. Never rejects. */
  async whenLoaded(): Promise<void> {
    if (this.isLoaded) return
    const leftMs = this.#startedAt + FIRST_LOAD_MS - performance.now()
    if (leftMs <= 0) return
    await Promise.race([this.refresh(), sleep(leftMs, undefined, { ref: false })])
  }

  /** Reads what has changed. Never rejects: what was known stays known. */
  async refresh(): Promise<void> {
    // One that has begun may have missed the change.
    await this.#refreshing
    await this.#startRefresh()
  }

  /** Ends what it does in the background. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const end of this.#ends) end()
    await this.#use?.close()
  }

  #findStored(presented: Buffer): ReadToken | undefined {
    // Only hashes are looked up: how long that takes reveals nothing about a token.
    const found = this.#tokens.get(presented.toString('hex'))
    return found !== undefined && timingSafeEqual(found.hash, presented) ? found : undefined
  }

  #look(): void {
    const { announces = false } = this.#options.store ?? {}
    const pauseMs = announces ? ANNOUNCED_POLL_MS : 0
    const isDue = this.#isStale || performance.now() - this.#lookedAt >= pauseMs
    if (isDue) void this.#startRefresh()
  }

  #startRefresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined))
    return this.#refreshing
  }

  async #refresh(): Promise<void> {
    const { store, logger } = this.#options
    if (store === undefined) return
    this.#lookedAt = performance.now()
    this.#isStale = false
    try {
      if ((await store.version()) !== this.#version) {
        const { version, projects, tokens } = await store.load()
        this.#take(projects, tokens)
        this.#version = version
      }
      if (this.#isFailing) logger.info('Projects can be read from the ledger again.')
      this.#isFailing = false
    } catch (error) {
      this.#isStale = true
      if (!this.#isFailing && !this.#isClosed)
        logger.warn('Projects cannot be read from the ledger: those that are known are served.', {
          error,
        })
      this.#isFailing = true
    }
  }

  #take(projects: readonly StoredProject[], tokens: readonly StoredToken[]): void {
    const stored = new Map(projects.map((row) => [row.id, this.#read(row)]))
    this.#stored = stored
    this.#tokens = new Map(
      tokens.flatMap(({ id, hash, project: owner }) => {
        const project = this.find(owner)
        return project ? [[hash, { id, hash: Buffer.from(hash, 'hex'), project }] as const] : []
      }),
    )
  }

  /** Reads a project, unless it is the one that is known: a merchant changes only when it changes. */
  #read({ id, settings, version }: StoredProject): ReadProject {
    const known = this.#stored.get(id)
    if (known?.version === version) return known
    const { readMerchant, logger } = this.#options
    if (this.isConfigured(id)) {
      logger.warn('A project of the ledger has the id of one of the configuration, which counts.', {
        project: id,
      })
      return { version, project: { id, tokenHashes: [], settings } }
    }
    const read = readMerchant(settings, id)
    if (!read.ok)
      logger.warn('A project of the ledger does not fit the configuration: it cannot be paid.', {
        project: id,
        errors: read.errors.map(({ path, message }) => `${path} ${message}`).join('; '),
      })
    const merchant = read.ok ? read.value : undefined
    return { version, project: { id, tokenHashes: [], merchant, settings } }
  }
}
