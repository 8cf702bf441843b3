import type { StoredProject } from '../ledger/projects.js'
import type { Project } from '../merchants/project.js'
import type { AdminContext } from './context.js'
import { isoTime } from './positions.js'

/** A project of the configuration, as it is shown. */
export function configuredView({ id, settings }: Project) {
  return { id, ...(settings && { merchant: settings }), source: 'configuration' as const }
}

/**
 * A project of the database, as it is shown.
 *
 * `errors` are there if the merchant does not fit the configuration any more, so that nobody can pay.
 */
export function storedView({ readMerchant }: AdminContext, project: StoredProject) {
  const { id, settings, nextPayTo, version, createdAt, updatedAt } = project
  const read = readMerchant(settings, id)
  return {
    id,
    merchant: settings,
    ...(nextPayTo && { nextPayTo: { ...nextPayTo, at: isoTime(nextPayTo.at) } }),
    source: 'database' as const,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
    version,
    ...(!read.ok && { errors: read.errors }),
  }
}
