import { timingSafeEqual } from 'node:crypto'
import type { ProjectStore } from '../../ledger/index.js'
import {
  TOKEN_SCOPES,
  type ProjectSnapshot,
  type StoredProject,
  type TokenScope,
} from '../../ledger/projects.js'
import type { Logger } from '../../shared/logger.js'
import { findProjectByHash } from './project.js'
import { digestToken } from '../../shared/crypto/identify-token.js'
import type { Merchant, Project, ReadMerchant } from './project.js'
import { TokenUse } from './token-use.js'
import { world } from '../../shared/world.js'

/** How often changes are polled for (ms). */
const POLL_MS = 400

/** How often, if the ledger announces changes (ms): announcements are lost with a dead connection. */
const ANNOUNCED_POLL_MS = 700

/** How long requests wait for the first load, counted from the start (ms). */
const FIRST_LOAD_MS = 3000

export interface DirectoryOptions {
  readonly projects: readonly Project[]
  /** Stores projects made at run time. Absent if there are none. */
  readonly store?: ProjectStore | undefined
  readonly readMerchant: ReadMerchant
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export interface TokenHolder {
  readonly project: Project
  /** What the token may do: everything, if it comes from the configuration. */
  readonly scopes: readonly TokenScope[]
  readonly token?: string
  /** What its owner calls it. */
  readonly label?: string
}

interface ReadToken extends TokenHolder {
  readonly token: string
  readonly hash: Buffer
}

/**
 * Finds projects of the configuration and of the ledger.
 *
 * Reads come from memory, which follows the database within a second and stays as it is while the
 * database does not answer. A changed project is replaced as a whole, so that payments under way keep
 * their terms.
 */
export class ProjectDirectory {
  readonly #options: DirectoryOptions
  readonly #configured: ReadonlyMap<string, Project>
  readonly #use: TokenUse | undefined
  readonly #startedAt = world.elapsed()
  readonly #ends: (() => void)[] = []
  #stored: ReadonlyMap<string, Project> = new Map()
  #all: readonly Project[]
  #tokens: ReadonlyMap<string, ReadToken> = new Map()
  /** Number of the last known change; -1 before the first load. */
  #version = -1
  #lookedAt = -Infinity
  /** Projects whose address will be another one. */
  #waiting: readonly StoredProject[] = []
  #isStale = true
  #refreshing: Promise<void> | undefined
  #isFailing = false
  #isClosed = false

  constructor(options: DirectoryOptions) {
    const { projects, store, logger } = options
    this.#options = options
    this.#configured = new Map(projects.map((project) => [project.id, project]))
    this.#all = projects
    if (store === undefined) return
    this.#use = new TokenUse(store, logger)
    const timer = world.setInterval(() => this.#look(), POLL_MS).unref()
    const unwatch = store.watch(() => {
      this.#isStale = true
      this.#look()
    })
    this.#ends.push(unwatch, () => world.clearInterval(timer))
    this.#look()
  }

  /** Whether there may be projects outside the configuration. */
  get isOpen(): boolean {
    return this.#options.store !== undefined
  }

  get isLoaded(): boolean {
    return !this.isOpen || this.#version >= 0
  }

  /**
   * All known projects: those of the configuration in its order, then the others, oldest first. The same list
   * until one changes.
   */
  get all(): readonly Project[] {
    return this.#all
  }

  get configured(): readonly Project[] {
    return this.#options.projects
  }

  get hasTokens(): boolean {
    return (
      this.#tokens.size > 0 || this.configured.some((project) => project.tokenHashes.length > 0)
    )
  }

  /** Finds the holder of an identify token. Hashes are compared in constant time. */
  findByToken(token: string): TokenHolder | undefined {
    const found = this.findByHash(digestToken(token))
    if (found?.token !== undefined) this.#use?.markUsed(found.token)
    return found
  }

  /** Finds a holder by the SHA-256 of their token. Does not count as a use of the token. */
  findByHash(hash: Buffer): TokenHolder | undefined {
    const project = findProjectByHash(this.#options.projects, hash)
    return project ? { project, scopes: TOKEN_SCOPES } : this.#findStored(hash)
  }

  find(id: string): Project | undefined {
    return this.#configured.get(id) ?? this.#stored.get(id)
  }

  findMerchant(id: string): Merchant | undefined {
    return this.find(id)?.merchant
  }

  isConfigured(id: string): boolean {
    return this.#configured.has(id)
  }

  /** Waits a moment for the first load. Never rejects. */
  async whenLoaded(): Promise<void> {
    if (this.isLoaded) return
    const leftMs = this.#startedAt + FIRST_LOAD_MS - world.elapsed()
    if (leftMs <= 0) return
    await Promise.race([this.refresh(), world.sleep(leftMs, undefined, { ref: false })])
  }

  /** Reads changes. Never rejects. */
  async refresh(): Promise<void> {
    // A refresh that has begun may miss the latest change.
    await this.#refreshing
    await this.#startRefresh()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const end of this.#ends) end()
    await this.#use?.close()
  }

  #findStored(presented: Buffer): ReadToken | undefined {
    // Looks up hashes only, whose timing reveals nothing about a token.
    const found = this.#tokens.get(presented.toString('hex'))
    return found !== undefined && timingSafeEqual(found.hash, presented) ? found : undefined
  }

  #look(): void {
    const { announces = false } = this.#options.store ?? {}
    const pauseMs = announces ? ANNOUNCED_POLL_MS : 0
    const isDue = this.#isStale || world.elapsed() - this.#lookedAt >= pauseMs
    if (isDue) void this.#startRefresh()
  }

  #startRefresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined))
    return this.#refreshing
  }

  async #refresh(): Promise<void> {
    const { store, logger, now } = this.#options
    if (store === undefined) return
    this.#lookedAt = world.elapsed()
    this.#isStale = false
    try {
      for (const project of this.#waiting)
        if (project.nextPayTo && project.nextPayTo.at <= now()) await store.applyNextPayTo(project)
      if ((await store.version()) !== this.#version) {
        const read = await store.load(this.#version)
        if (read.changed?.length !== 0) this.#take(read)
        this.#version = read.version
      }
      if (this.#isFailing) logger.info('Projects can be read from the ledger again.')
      this.#isFailing = false
    } catch (error) {
      this.#isStale = true
      if (!this.#isFailing && !this.#isClosed)
        logger.warn('Cannot read projects from the ledger. Known ones are still served.', { error })
      this.#isFailing = true
    }
  }

  #take({ changed, projects, tokens }: ProjectSnapshot): void {
    const read = new Map(projects.map((row) => [row.id, this.#read(row)]))
    const stored = new Map(this.#stored)
    for (const id of changed ?? stored.keys()) if (!read.has(id)) stored.delete(id)
    for (const [id, project] of read) stored.set(id, project)
    this.#stored = stored
    this.#all = [
      ...this.configured,
      ...[...stored.values()].filter(({ id }) => !this.isConfigured(id)),
    ]
    this.#waiting = [...stored.values()].flatMap(({ stored: row }) => (row?.nextPayTo ? row : []))
    this.#tokens = new Map([
      ...[...this.#tokens].filter(([, { project }]) => changed?.includes(project.id) === false),
      ...tokens.flatMap(({ id: token, hash, label, scopes, project: owner }) => {
        const project = this.find(owner)
        if (project === undefined) return []
        return [[hash, { token, label, hash: Buffer.from(hash, 'hex'), project, scopes }] as const]
      }),
    ])
  }

  /** Parses a project, but keeps the same object while its version is the same. */
  #read(stored: StoredProject): Project {
    const { id, settings, version, pausedBy } = stored
    const known = this.#stored.get(id)
    if (known?.stored?.version === version) return known
    const { readMerchant, logger } = this.#options
    const project = { id, tokenHashes: [], settings, stored, pausedBy }
    if (this.isConfigured(id)) {
      logger.warn('Ignored a project of the ledger: one in the configuration has the same id.', {
        project: id,
      })
      return project
    }
    const read = readMerchant(settings, id)
    if (read.ok)
      return { ...project, merchant: { ...read.value, ...(pausedBy && { paused: true }) } }
    const { errors } = read
    logger.warn('A project of the ledger is invalid under this configuration: it cannot be paid.', {
      project: id,
      errors: errors.map(({ path, message }) => `${path} ${message}`).join('; '),
    })
    return { ...project, errors }
  }
}
