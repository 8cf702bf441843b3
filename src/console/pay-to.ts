/** Changes of the address that a merchant is paid at: by owners alone, and after a delay where one is set. */
import type { Response } from 'express'
import type { ProjectUpdate, StoredProject } from '../ledger/projects.js'
import { mayAdmin, rolesFor } from '../merchants/access.js'
import { sameHex } from '../protocol/hex.js'
import { adminOf } from './admin.js'
import { forbidden } from './authenticate-admin.js'
import type { AdminContext } from './context.js'

/** A change of the address, as an endpoint. */
const REDIRECT = { method: 'PATCH', scope: 'own' } as const

/** Wanted settings of a merchant, and the `payTo` that the request names. */
interface WantedSettings {
  readonly settings: object
  readonly payTo: unknown
}

/**
 * Decides which address is paid from now on, and which one later.
 *
 * @param before - Its settings were valid, and so are the wanted ones.
 * @throws `RequestProblem` 403 for an admin who is no owner
 */
export function planPayTo(
  { payToDelayMs }: Pick<AdminContext, 'payToDelayMs'>,
  res: Response,
  { before, wanted }: { readonly before: StoredProject; readonly wanted: WantedSettings },
): Pick<ProjectUpdate, 'settings' | 'nextPayTo'> {
  const { settings, payTo } = wanted
  const now = (before.settings as { readonly payTo?: unknown }).payTo
  const waiting = before.nextPayTo?.payTo
  if (payTo === undefined) return { settings }
  if (waiting !== undefined && isSame(payTo, waiting))
    return { settings: { ...settings, payTo: now } }
  if (waiting === undefined && isSame(payTo, now)) return { settings }
  const admin = adminOf(res)
  if (!mayAdmin(admin.role, REDIRECT)) throw forbidden(admin, rolesFor(REDIRECT))
  if (isSame(payTo, now) || payToDelayMs === 0) return { settings, nextPayTo: 'none' }
  const nextPayTo = { payTo: String(payTo), afterMs: payToDelayMs }
  return { settings: { ...settings, payTo: now }, nextPayTo }
}

const isSame = (one: unknown, other: unknown): boolean => sameHex(String(one), String(other))
