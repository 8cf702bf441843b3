/** Who may call which endpoint: the scopes of merchants' tokens, and the roles of operators. */
import { TOKEN_SCOPES, type TokenScope } from '../../ledger/projects.js'

/**
 * Scopes that endpoints ask for. `manage`: changes merchants and their tokens; of merchants' tokens, those with all
 * scopes have it. `own`: redirects payments or deletes a merchant, which operators alone may do.
 */
export const SCOPES = [...TOKEN_SCOPES, 'manage', 'own'] as const

export type Scope = (typeof SCOPES)[number]

/** All roles, from the most powerful to the least. */
export const ADMIN_ROLES = [
  'owner',
  'operator',
  'support',
  'viewer',
] as const satisfies readonly AdminRole[]

/**
 * What someone with an admin token may do. All read everything; `support` also refunds; `operator` also manages
 * merchants, their tokens, webhooks and payment links; `owner` also changes `payTo` and deletes merchants.
 *
 * @example
 * ```ts
 * import type { AdminPerson, AdminRole } from 'express-x402-gateway'
 *
 * const person = (name: string, role: AdminRole, token: string): AdminPerson => ({ name, role, token })
 * ```
 */
export type AdminRole = 'owner' | 'operator' | 'support' | 'viewer'

/** What each role may do besides reading, which all may. */
const SCOPES_OF: Readonly<Record<AdminRole, readonly Scope[]>> = {
  owner: ['settle', 'refund', 'webhooks', 'manage', 'own'],
  operator: ['settle', 'refund', 'webhooks', 'manage'],
  support: ['refund'],
  viewer: [],
}

/** An endpoint, as far as access is concerned. */
interface Guarded {
  readonly method: string
  readonly scope?: Scope
}

export function mayAdmin(role: AdminRole, { method, scope }: Guarded): boolean {
  return method === 'GET' || (scope !== undefined && SCOPES_OF[role].includes(scope))
}

export function rolesFor(endpoint: Guarded): readonly AdminRole[] {
  return ADMIN_ROLES.filter((role) => mayAdmin(role, endpoint))
}

export const scopesOfRole = (role: AdminRole): readonly Scope[] => ['read', ...SCOPES_OF[role]]

/** Everything that a merchant's token may do. */
export function scopesOfToken(scopes: readonly TokenScope[]): readonly Scope[] {
  const isFull = TOKEN_SCOPES.every((scope) => scopes.includes(scope))
  return isFull ? [...scopes, 'manage'] : scopes
}

export interface Admin {
  /** What the audit log calls them. */
  readonly name: string
  readonly role: AdminRole
}

export interface AdminToken {
  /** SHA-256 of the token. */
  readonly hash: Buffer
  readonly admin: Admin
}

/** Hexadecimal digits by which the audit log names an admin token without a name. */
const NAME_DIGITS = 8

/** The holder of an admin token without a name: an owner. */
export function unnamedOwner(hash: Buffer): Admin {
  return { name: `admin-${hash.toString('hex').slice(0, NAME_DIGITS)}`, role: 'owner' }
}
