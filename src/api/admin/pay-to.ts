/** Changes of the address that a merchant is paid at: by owners alone, and after a delay where one is set. */
import type { Response } from 'express'
import type { ProjectUpdate, StoredProject } from '../../ledger/projects.js'
import { mayAdmin, rolesFor } from '../../core/merchants/access.js'
import { sameHex } from '../../shared/protocol/hex.js'
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
  const { payTo: now = '' } = before.settings as { readonly payTo?: string }
  const waiting = before.nextPayTo?.payTo
  if (typeof payTo !== 'string') return { settings }
  if (waiting !== undefined && sameHex(payTo, waiting))
    return { settings: { ...settings, payTo: now } }
  if (waiting === undefined && sameHex(payTo, now)) return { settings }
  const admin = adminOf(res)
  if (!mayAdmin(admin.role, REDIRECT)) throw forbidden(admin, rolesFor(REDIRECT))
  if (sameHex(payTo, now) || payToDelayMs === 0) return { settings, nextPayTo: 'none' }
  const nextPayTo = { payTo, afterMs: payToDelayMs }
  return { settings: { ...settings, payTo: now }, nextPayTo }
}
