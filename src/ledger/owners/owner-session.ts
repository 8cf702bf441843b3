import type * as PgModule from 'pg'
import { processWarnings } from '../../shared/logger.js'
import type { Liveness } from './lock-owner.js'
import { world } from '../../shared/world.js'

/** How long an owner may be without a session before it counts as dead (ms): it may be reconnecting. */
const DEAD_AFTER_MS = 900

/** How long after a restart of the server, or of our own session, no owner counts as dead (ms). */
const GRACE_MS = 5000

/** Pause between two attempts to reconnect (ms). */
const RECONNECT_MS = 250

/** Timeout of connecting (ms), unless the pool has its own. Requests may be waiting. */
const CONNECT_TIMEOUT_MS = 5000

/** Timeout of the session's statements (ms). */
const QUERY_TIMEOUT_MS = 10_000

/** Which process of the server has the session, and whether the server has been read-only since a failover. */
const SERVER_STATE = `SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only') AS read_only`

interface ServerState {
  readonly pid: number
  readonly read_only: string
}

/** The advisory lock of an owner, by its id of 16 hexadecimal digits. */
export const OWNER_KEY = `('x' || owner)::bit(64)::bigint`

/** Members of a pool that the types of `pg` leave out. */
type SessionPool = Partial<{
  readonly Client: new (options?: PgModule.ClientConfig) => SessionClient
  readonly options: PgModule.ClientConfig
}>

/** A connection, with members that the types of `pg` leave out. */
interface SessionClient extends PgModule.Client {
  /** Id of the server's process, as the server reports it when a client connects. */
  readonly processID?: number
  unref(): void
}

/** A connection of this process's own, which has its owner's advisory lock. */
interface Session {
  readonly client: SessionClient
  readonly channels: ReadonlySet<string>
  /** When others may first be found dead by it, by `world.elapsed()`. */
  readonly trustedFrom: number
}

/**
 * Shows that a process lives by an advisory lock of its own, which PostgreSQL unlocks when the session
 * ends. The kernel ends the session of a process that dies; one that is only paused keeps it.
 *
 * Behind a pooler such as PgBouncer there are no sessions: locks then lapse by the clock, as they do when a
 * whole machine fails.
 */
export class OwnerSession implements Liveness {
  readonly #pool: () => unknown
  #session: Session | undefined
  #opening: Promise<boolean> | undefined
  /** Whether this process can have a session at all. */
  #isPossible = true
  #hadSession = false
  #isEnded = false
  readonly #listeners = new Map<string, () => void>()
  /** Since when each owner has had no session, by `world.elapsed()`. */
  #silentSince = new Map<string, number>()

  /** @param pool - Returns a pool of `pg`; the session connects with its options. */
  constructor(pool: () => unknown) {
    this.#pool = pool
  }

  async show(owner: string): Promise<boolean> {
    const { client } = this.#session ?? {}
    if (client !== undefined) {
      // Also keeps the session from being idle.
      const isThere = await client.query<ServerState>(SERVER_STATE).then(
        ({ rows: [state] }) => state?.read_only === 'off',
        () => false,
      )
      if (isThere) return true
      this.#lose(client, owner)
    }
    if (!this.#isPossible || this.#isEnded) return false
    this.#opening ??= this.#open(owner)
      .catch(() => false)
      .finally(() => (this.#opening = undefined))
    return this.#opening
  }

  async findDead(owners: readonly string[]): Promise<readonly string[]> {
    const now = world.elapsed()
    const { client, trustedFrom = Infinity } = this.#session ?? {}
    if (client === undefined || now < trustedFrom) {
      this.#silentSince.clear()
      return []
    }
    const { rows } = await client.query<{ owner: string }>(
      `SELECT owner FROM unnest($1::text[]) AS owner
        WHERE clock_timestamp() > pg_postmaster_start_time() + interval '${GRACE_MS} ms'
          AND current_setting('transaction_read_only') = 'off'
          AND pg_try_advisory_xact_lock_shared(${OWNER_KEY})`,
      [owners],
    )
    this.#silentSince = new Map(
      rows.map(({ owner }) => [owner, this.#silentSince.get(owner) ?? now]),
    )
    return [...this.#silentSince].flatMap(([owner, since]) =>
      now - since > DEAD_AFTER_MS ? [owner] : [],
    )
  }

  /** Calls back for each notification on a channel, and when some may have been missed. */
  listen(channel: string, listener: () => void): void {
    this.#listeners.set(channel, listener)
  }

  hears(channel: string): boolean {
    return this.#session?.channels.has(channel) ?? false
  }

  async end(): Promise<void> {
    this.#isEnded = true
    await this.#opening
    const { client } = this.#session ?? {}
    this.#session = undefined
    await client?.end()
  }

  /** @returns Whether the session is there. */
  async #open(owner: string): Promise<boolean> {
    const client = this.#newClient()
    if (client === undefined) return this.#giveUp()
    client.on('error', () => undefined)
    try {
      await client.connect()
      client.unref()
      const [state] = (await client.query<ServerState>(SERVER_STATE)).rows
      if (state?.pid !== client.processID) {
        await client.end()
        return this.#giveUp()
      }
      if (state?.read_only !== 'off') throw new Error('read-only')
      // Waits while the server still has a session that we have lost.
      await client.query(
        `SELECT pg_advisory_lock(${OWNER_KEY}) FROM (SELECT $1::text AS owner) AS own`,
        [owner],
      )
    } catch (error) {
      void client.end().catch(() => undefined)
      throw error
    }
    const channels = await this.#hear(client)
    if (this.#isEnded) {
      await client.end()
      return false
    }
    const graceMs = this.#hadSession ? GRACE_MS : 0
    this.#hadSession = true
    this.#session = { client, channels, trustedFrom: world.elapsed() + graceMs }
    client.once('end', () => this.#lose(client, owner))
    for (const listener of this.#listeners.values()) listener()
    return true
  }

  /** Listens to the channels. @returns Those for which the server has accepted that. */
  async #hear(client: SessionClient): Promise<ReadonlySet<string>> {
    client.on('notification', ({ channel }) => this.#listeners.get(channel)?.())
    const heard = new Set<string>()
    for (const channel of this.#listeners.keys())
      await client.query(`LISTEN ${channel}`).then(
        () => heard.add(channel),
        () => undefined,
      )
    return heard
  }

  #newClient(): SessionClient | undefined {
    const { Client, options } = this.#pool() as SessionPool
    if (Client === undefined || options === undefined) return undefined
    // A pool hides its password from copies.
    const { password } = options
    return new Client({
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      ...options,
      ...(password !== undefined && { password }),
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
    })
  }

  #giveUp(): false {
    this.#isPossible = false
    processWarnings.warn(
      'The ledger has no PostgreSQL session of its own, as behind a pooler: what this process has in hand is free for others 30 s after it dies, and not at once.',
    )
    return false
  }

  /** Connects again: others will soon take this process for dead. */
  #lose(client: SessionClient, owner: string): void {
    if (this.#session?.client !== client) return
    this.#session = undefined
    void client.end().catch(() => undefined)
    void this.#reconnect(owner)
  }

  async #reconnect(owner: string): Promise<void> {
    while (!this.#isEnded && !(await this.show(owner)))
      await world.sleep(RECONNECT_MS, undefined, { ref: false })
  }
}
