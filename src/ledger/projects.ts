/**
 * Projects that an operator has made at run time, their tokens, and the audit log.
 *
 * Every change and its entry of the audit log are one transaction. Changes are numbered without gaps
 * that matter: a process that has loaded version n knows all changes up to n.
 */

export type PausedBy = 'operator' | 'merchant'

export interface StoredProject {
  readonly id: string
  /** The merchant, as `MerchantOptions`. It was valid when it was stored. */
  readonly settings: object
  /** Who has paused it; nobody, while it takes payments. */
  readonly pausedBy?: PausedBy | undefined
  /** The address that will be paid from a time on, in milliseconds since the epoch. */
  readonly nextPayTo?: { readonly payTo: string; readonly at: number } | undefined
  /** Grows with each change of the project. */
  readonly version: number
  readonly position: number
  /** Milliseconds since the epoch, by the database's clock. */
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ProjectUpdate extends Pick<
  StoredProject,
  'id' | 'settings' | 'pausedBy' | 'version'
> {
  /** The address that will be paid, and in how long. @defaultValue the one that waits already, if any */
  readonly nextPayTo?: { readonly payTo: string; readonly afterMs: number } | 'none' | undefined
}

/** What a token of a project may do. `settle` has the payment API, `read` everything that was paid. */
export const TOKEN_SCOPES = ['settle', 'read', 'refund', 'webhooks'] as const

export type TokenScope = (typeof TOKEN_SCOPES)[number]

/** An identify token of a project, of which only the hash is kept. */
export interface StoredToken {
  readonly id: string
  readonly project: string
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string
  readonly label: string
  readonly scopes: readonly TokenScope[]
  /** Milliseconds since the epoch, by the database's clock. */
  readonly createdAt: number
  /** To the minute. */
  readonly lastUsedAt?: number | undefined
  readonly revokedAt?: number | undefined
}

export type NewToken = Pick<StoredToken, 'id' | 'project' | 'hash' | 'label' | 'scopes'>

/** Actions of an admin that the audit log records. `refund.requested` is written before money moves. */
export const AUDIT_ACTIONS = [
  'project.created',
  'project.updated',
  'project.deleted',
  'token.created',
  'token.revoked',
  'webhook.created',
  'webhook.updated',
  'webhook.secret_rotated',
  'webhook.deleted',
  'webhook.tested',
  'delivery.resent',
  'refund.requested',
  'checkout.created',
  'checkout.canceled',
] as const

export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export interface AuditEntry {
  readonly id: string
  readonly position: number
  /** Milliseconds since the epoch, by the database's clock. */
  readonly at: number
  readonly actor: string
  readonly action: AuditAction
  readonly project: string
  readonly token?: string | undefined
  /** The object before and after the change, without tokens and their hashes. */
  readonly before?: object | undefined
  readonly after?: object | undefined
}

export type AuditedChange = Omit<AuditEntry, 'id' | 'position' | 'at' | 'actor'>

export interface ChangeAuthor {
  readonly actor: string
  /** Random id of the change: a change that is tried twice is made once. */
  readonly change: string
}

/**
 * The result of a change. `taken`: the project exists. `deleted`: it existed; ids are not used again, because
 * payments belong to them. `missing`: there is no such project or token. `changed`: the project has another
 * version by now. `full`: the project has as many as it may have.
 */
export type ChangeOutcome = 'done' | 'taken' | 'deleted' | 'missing' | 'changed' | 'full'

/** All that is needed to find the project of a request. */
export interface ProjectSnapshot {
  /** Number of the last change that it is known to contain. */
  readonly version: number
  /** Ids of the projects that it tells of, also of those that are gone. Absent: all. */
  readonly changed?: readonly string[] | undefined
  /** Oldest first. */
  readonly projects: readonly StoredProject[]
  /** Without revoked ones. */
  readonly tokens: readonly StoredToken[]
}

export interface PageQuery {
  /** Position of the last entry of the page before. */
  readonly after?: number | undefined
  readonly limit: number
}
