import { isoTime } from '../../ledger/time-zone.js'
import type { StoredProject } from '../../ledger/projects.js'
import type { Project } from '../../core/merchants/project.js'
import type { AdminContext } from './context.js'

export function projectView({ id, settings, stored, errors, pausedBy }: Project) {
  if (stored !== undefined) return viewOf(stored, errors)
  const source = 'configuration' as const
  return { id, ...(settings && { merchant: settings }), source, ...pauseOf(pausedBy) }
}

export function storedView({ readMerchant }: AdminContext, stored: StoredProject) {
  const read = readMerchant(stored.settings, stored.id)
  return viewOf(stored, read.ok ? undefined : read.errors)
}

/** `errors` are there if the merchant does not fit the configuration any more, so that nobody can pay. */
function viewOf(
  { id, settings, nextPayTo, version, createdAt, updatedAt, pausedBy }: StoredProject,
  errors: Project['errors'],
) {
  return {
    id,
    merchant: settings,
    ...(nextPayTo && { nextPayTo: { ...nextPayTo, at: isoTime(nextPayTo.at) } }),
    source: 'database' as const,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
    version,
    ...pauseOf(pausedBy),
    ...(errors && { errors: [...errors] }),
  }
}

const pauseOf = (pausedBy: Project['pausedBy']) => ({
  paused: pausedBy !== undefined,
  ...(pausedBy && { pausedBy }),
})
