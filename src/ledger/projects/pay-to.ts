/** The address that a merchant is paid at, when it changes. */
import type { StoredProject } from '../projects.js'
import { newDeliveryId, OPERATOR, PAY_TO_CHANGED } from '../webhooks.js'
import { insertDelivery, wanting } from '../webhooks/rows.js'
import type { Changing } from './changes.js'

/** A project's address, and the one that waits. */
type Paid = Pick<StoredProject, 'id' | 'settings' | 'nextPayTo'>

export function auditedOf({
  settings,
  pausedBy,
  nextPayTo,
}: Pick<StoredProject, 'settings' | 'pausedBy' | 'nextPayTo'>): object {
  return {
    ...settings,
    ...(pausedBy && { pausedBy }),
    ...(nextPayTo && { nextPayTo: nextPayTo.payTo }),
  }
}

/**
 * Tells the webhooks of a project, whatever their events are, and those of the operator that want it, if another
 * address is or will be paid. An attacker who changes the address could also unsubscribe the webhooks.
 */
export async function tellPayTo(
  { db, now, at }: Changing,
  before: Paid,
  after: Omit<Paid, 'id'>,
): Promise<void> {
  const [previousPayTo, payTo] = [lastOf(before), lastOf(after)]
  if (previousPayTo.toLowerCase() === payTo.toLowerCase()) return
  const effectiveAt = new Date(after.nextPayTo?.at ?? at).toISOString()
  const data = { project: before.id, payTo, previousPayTo, effectiveAt }
  const endpoints = await db
    .selectFrom('x402_webhook_endpoints')
    .select(['id', 'project'])
    .where((where) =>
      where.or([
        where('project', '=', before.id),
        where.and([
          where('project', '=', OPERATOR),
          where('events', 'like', wanting(PAY_TO_CHANGED)),
        ]),
      ]),
    )
    .execute()
  for (const { id: endpoint, project } of endpoints)
    await insertDelivery(
      { db, now },
      { id: newDeliveryId(), endpoint, project, type: PAY_TO_CHANGED, data },
    )
}

function lastOf({ settings, nextPayTo }: Omit<Paid, 'id'>): string {
  return nextPayTo?.payTo ?? String((settings as { readonly payTo?: unknown }).payTo)
}
