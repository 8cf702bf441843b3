import { sha256 } from '../../shared/crypto/sha256.js'
import type { SessionStore } from '../../ledger/index.js'
import type { ConsoleSession } from '../../ledger/sessions.js'
import type { Logger } from '../../shared/logger.js'
import type { Admin, AdminToken } from '../../core/merchants/access.js'
import { digestToken } from '../../shared/crypto/identify-token.js'
import type { ProjectDirectory, TokenHolder } from '../../core/merchants/project-directory.js'
import { notLoaded } from '../serve/authenticate.js'
import { findAdminByHash } from '../admin/admin.js'
import { world } from '../../shared/world.js'

/** How long a session lasts at most, and without a request (ms). */
const LIFETIME_MS = 12 * 3_600_000
const IDLE_MS = 2 * 3_600_000

/** How often the use of a session is noted (ms). */
const NOTE_EVERY_MS = 60_000

const MAX_PER_TOKEN = 20

export type Identity =
  | { readonly role: 'admin'; readonly admin: Admin }
  | { readonly role: 'merchant'; readonly holder: TokenHolder }

export type OpenSession = Identity & {
  /** Names the session; it opens nothing. */
  readonly hash: string
  /** When it ends, unless it is used until then; milliseconds since the epoch. */
  readonly expiresAt: number
}

export type NewSession = OpenSession & {
  readonly secret: string
  readonly longestMs: number
}

export interface ConsoleSessionsOptions {
  readonly store: SessionStore
  readonly directory: ProjectDirectory
  readonly adminTokens: readonly AdminToken[]
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * The sessions of the console.
 *
 * A session is as good as the token that it was opened with: it ends when the token is revoked, its project
 * is deleted, or the configuration has the token no more. What it may do is looked up with each request.
 */
export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options
  }

  /** Finds out whose token it is. Hashes are compared in constant time. */
  async identify(token: string): Promise<Identity | undefined> {
    const identity = await this.#findIdentity(digestToken(token))
    // Notes that the token is in use.
    if (identity?.role === 'merchant') this.#options.directory.findByToken(token)
    return identity
  }

  /** Opens a session, under a secret that nobody has known before. */
  async open(token: string, identity: Identity, ip: string | undefined): Promise<NewSession> {
    const { store, now, logger } = this.#options
    const secret = world.randomBytes(32).toString('base64url')
    const at = now()
    const session: ConsoleSession = {
      hash: sha256(secret, 'hex'),
      role: identity.role,
      token: digestToken(token).toString('hex'),
      ...(identity.role === 'merchant' && { project: identity.holder.project.id }),
      createdAt: at,
      usedAt: at,
    }
    await store.add(session, {
      createdBefore: at - LIFETIME_MS,
      usedBefore: at - IDLE_MS,
      perToken: MAX_PER_TOKEN,
    })
    logger.info('Someone has signed in to the console.', { ...nameOf(identity), ip })
    const expiresAt = expiryOf(session)
    return { ...identity, secret, hash: session.hash, expiresAt, longestMs: LIFETIME_MS }
  }

  /** Finds the session of a secret, and keeps it from running out. */
  async use(secret: string): Promise<OpenSession | undefined> {
    const hash = sha256(secret, 'hex')
    const { store, now } = this.#options
    const session = await store.find(hash)
    const open = session && (await this.#check(session))
    if (session === undefined || open === undefined) return undefined
    const usedAt = now()
    if (usedAt - session.usedAt >= NOTE_EVERY_MS) await store.noteUse(hash, usedAt)
    return { ...open, expiresAt: expiryOf({ ...session, usedAt }) }
  }

  async close(hash: string): Promise<void> {
    await this.#options.store.remove(hash)
  }

  async #check(session: ConsoleSession): Promise<OpenSession | undefined> {
    const expiresAt = expiryOf(session)
    if (expiresAt <= this.#options.now()) return undefined
    const identity = await this.#findIdentity(Buffer.from(session.token, 'hex'))
    const project = identity?.role === 'merchant' ? identity.holder.project.id : undefined
    // A token that changed hands since takes no session with it.
    if (identity?.role !== session.role || project !== session.project) return undefined
    return { ...identity, hash: session.hash, expiresAt }
  }

  /** @throws `RequestProblem` 503 while it is not known which projects there are. */
  async #findIdentity(tokenHash: Buffer): Promise<Identity | undefined> {
    const { directory } = this.#options
    const known = this.#identityOf(tokenHash)
    if (known !== undefined || directory.isLoaded) return known
    await directory.whenLoaded()
    if (directory.isLoaded) return this.#identityOf(tokenHash)
    throw notLoaded()
  }

  #identityOf(tokenHash: Buffer): Identity | undefined {
    const { adminTokens, directory } = this.#options
    const admin = findAdminByHash(adminTokens, tokenHash)
    if (admin !== undefined) return { role: 'admin', admin }
    const holder = directory.findByHash(tokenHash)
    return holder && { role: 'merchant', holder }
  }
}

function expiryOf({ createdAt, usedAt }: Pick<ConsoleSession, 'createdAt' | 'usedAt'>): number {
  return Math.min(createdAt + LIFETIME_MS, usedAt + IDLE_MS)
}

function nameOf(identity: Identity): object {
  return identity.role === 'admin'
    ? { role: identity.role, admin: identity.admin.name }
    : { role: identity.role, project: identity.holder.project.id }
}
