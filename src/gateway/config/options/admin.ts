/** Options of the admin API. */
import type { AdminRole } from '../../../core/merchants/access.js'

/**
 * Someone who may use the admin API.
 *
 * @example
 * ```ts
 * import type { AdminPerson } from 'express-x402-gateway'
 *
 * const helper: AdminPerson = {
 *   name: 'Ada',
 *   role: 'support',
 *   token: process.env['ADA_TOKEN'] ?? '',
 * }
 * ```
 */
export interface AdminPerson {
  /** The audit log names them so. No two people have the same name. */
  readonly name: string
  /** What they may do: see {@link AdminRole}. */
  readonly role: AdminRole
  /** `sha256:…` as `express-x402-gateway token` prints it, or the token in plain text. */
  readonly token: string
}

/**
 * Access to the admin API: `tokens`, `people`, or both.
 *
 * @example
 * ```ts
 * import type { AdminOptions } from 'express-x402-gateway'
 *
 * const admin: AdminOptions = {
 *   people: [
 *     { name: 'Ada', role: 'owner', token: process.env['ADA_TOKEN'] ?? '' },
 *     { name: 'Support desk', role: 'support', token: process.env['DESK_TOKEN'] ?? '' },
 *   ],
 *   payToDelay: '48h',
 * }
 * ```
 */
export interface AdminOptions {
  /**
   * Tokens of owners without a name: `sha256:…` as `express-x402-gateway token` prints it, or tokens in plain
   * text. The audit log calls each by the beginning of its hash. @defaultValue none
   */
  readonly tokens?: readonly string[] | undefined
  /** People with a name and a role, each with their own token. @defaultValue none */
  readonly people?: readonly AdminPerson[] | undefined
  /**
   * How long a changed `payTo` of a merchant waits until it is paid: a number and `m`, `h` or `d`. Its
   * webhooks are told at once, and until then the change can be taken back. @defaultValue no delay
   */
  readonly payToDelay?: string | undefined
}
