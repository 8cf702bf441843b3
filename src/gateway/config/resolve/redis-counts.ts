import type { ClientRateLimitInfo, Options, Store } from 'express-rate-limit'
import type * as IoredisModule from 'ioredis'
import type * as RateLimitRedisModule from 'rate-limit-redis'
import type { RateLimitOptions } from '../../../shared/http/rate-limiter.js'
import { requirePeers } from '../../../ledger/engine/require-peers.js'
import { world } from '../../../shared/world.js'

const PREFIX = 'x402-limit:'

/** How long a request waits for Redis before it passes uncounted (ms). */
const PATIENCE_MS = 250

/** A probe that was cut short is forgotten after this time (ms). */
const PROBE_WINDOW_MS = 1000

/** Longest pause between two attempts to connect. */
const LONGEST_PAUSE_MS = 1000

/** The packages, which only shared limits need. */
const PACKAGES = ['ioredis', 'rate-limit-redis'] as const

/**
 * Counts of a rate limit in Redis, for all gateways that use it. Connects when the first request comes.
 *
 * While Redis cannot be reached, a count fails at once; while it is silent, after 250 ms. Errors name
 * the kind of failure only, because those of the driver may contain the URL.
 */
export class RedisCounts implements Store {
  readonly #redis: IoredisModule.Redis
  readonly #counts: RateLimitRedisModule.RedisStore
  /** Set once the scripts are loaded. */
  #loading: Promise<void> | undefined
  #options: Options | undefined
  /** Kind of the connection's last failure. */
  #failure = 'timeout'

  /**
   * @param option - The option that holds the URL, for errors.
   * @throws `ConfigError` if a package is missing.
   */
  constructor(url: string, option: string) {
    const peers = requirePeers(PACKAGES, undefined, option)
    const [{ Redis }, { RedisStore }] = peers as [typeof IoredisModule, typeof RateLimitRedisModule]
    const redis = new Redis(url, {
      lazyConnect: true,
      connectTimeout: LONGEST_PAUSE_MS,
      commandTimeout: PATIENCE_MS,
      // A process that ends waits no longer than this for the connection to close.
      disconnectTimeout: PATIENCE_MS,
      maxRetriesPerRequest: 0,
      retryStrategy: (attempt) => Math.min(attempt * 100, LONGEST_PAUSE_MS),
    })
    // Commands wait for the first connection only. Later, each request would wait for the full 250 ms.
    for (const event of ['ready', 'close'] as const)
      redis.once(event, () => (redis.options.enableOfflineQueue = false))
    redis.on('ready', () => (this.#failure = 'timeout'))
    redis.on('error', (error: unknown) => (this.#failure = kindOf(error)))
    this.#redis = redis
    this.#counts = new RedisStore({
      prefix: PREFIX,
      sendCommand: (command, ...args) => redis.call(command, ...args) as Promise<number>,
    })
  }

  init(options: Options): void {
    this.#options = options
  }

  increment(key: string): Promise<ClientRateLimitInfo> {
    return this.#run((counts) => counts.increment(key))
  }

  decrement(key: string): Promise<void> {
    return this.#run((counts) => counts.decrement(key))
  }

  resetKey(key: string): Promise<void> {
    return this.#run((counts) => counts.resetKey(key))
  }

  /** Counts one request, and forgets it. @returns The kind of the failure, if it cannot count */
  async probe(): Promise<string | undefined> {
    const key = `probe-${world.randomUUID()}`
    try {
      this.#options ??= { windowMs: PROBE_WINDOW_MS } as Options
      await this.#run((counts) => counts.increment(key))
      await this.#run((counts) => counts.resetKey(key))
      return undefined
    } catch (error) {
      return (error as { readonly cause: Error }).cause.message
    }
  }

  shutdown(): void {
    this.#redis.disconnect()
  }

  async #run<T>(work: (counts: RateLimitRedisModule.RedisStore) => Promise<T>): Promise<T> {
    try {
      this.#loading ??= this.#load()
      await this.#loading
      return await work(this.#counts)
    } catch (error) {
      // A script that could not be loaded would fail for good.
      this.#loading = undefined
      const kind = this.#failure === 'timeout' ? kindOf(error) : this.#failure
      // oxlint-disable-next-line eslint/preserve-caught-error -- it may contain the URL
      throw new Error('Redis does not count.', { cause: new Error(kind) })
    }
  }

  async #load(): Promise<void> {
    if (this.#options !== undefined) await this.#counts.init(this.#options)
  }
}

/** The kind of a failure: a code like `ECONNREFUSED`, or Redis's first word like `NOAUTH`. */
function kindOf(error: unknown): string {
  const { code, message = '' } = error as { code?: unknown; message?: string }
  return typeof code === 'string' ? code : (/^[A-Z]+\b/.exec(message)?.[0] ?? 'timeout')
}

/** Ends the connections of limits that are shared. Any other store is the app's own. */
export async function closeSharedCounts(options: {
  readonly rateLimit: RateLimitOptions | false
  readonly paymentRateLimit: RateLimitOptions | false
}): Promise<void> {
  for (const limits of [options.rateLimit, options.paymentRateLimit])
    if (limits && limits.redisUrl !== undefined) await limits.store?.shutdown?.()
}
