import type { Gateway } from '../../gateway/gateway.js'
import type { Finding } from '../../operate/health/finding.js'
import type { Logger } from '../../shared/logger.js'

/** Log level of a finding. */
const LEVELS = { ok: 'info', warning: 'warn', error: 'error' } as const

/** Most projects that one line names. */
const MAX_NAMED = 20

/**
 * Logs a gateway's check: a line each for its ledger, facilitator, networks, relayers and tokens, and one for
 * all projects of which the same was found.
 *
 * @param signal - Once aborted, nothing is logged.
 */
export async function logCheck(
  gateway: Pick<Gateway, 'check'>,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> {
  const found = await gateway.check()
  if (signal.aborted) return
  for (const { status, message, ...details } of withoutRepetitions(found))
    logger[LEVELS[status]](message, details)
}

/** A line of the log. */
type Line = Finding & { readonly projects?: readonly string[] }

/** Joins what was found of many projects: hundreds of lines at each start would hide all others. */
function withoutRepetitions(found: readonly Finding[]): readonly Line[] {
  const kinds = new Map<string, Finding[]>()
  for (const [index, finding] of found.entries()) {
    const { project, subject, status, code, message } = finding
    // Findings of one code differ: another token, another rate. That a project can be paid is always the same.
    const isPaid = status === 'ok' && subject === 'project'
    const about = isPaid || project === undefined ? '' : message.replaceAll(project, '')
    const kind = project === undefined ? String(index) : `${subject} ${status} ${code} ${about}`
    kinds.set(kind, [...(kinds.get(kind) ?? []), finding])
  }
  return [...kinds.values()].map(joined)
}

function joined(same: readonly Finding[]): Line {
  const [first, second] = same
  if (first === undefined || second === undefined) return first!
  const { subject, status, code } = first
  const ids = [...new Set(same.map(({ project = '' }) => project))]
  return { subject, status, code, message: messageOf(same, ids), projects: ids.slice(0, MAX_NAMED) }
}

function messageOf([first]: readonly Finding[], ids: readonly string[]): string {
  if (first?.subject === 'project' && first.status === 'ok')
    return `${ids.length} projects can be paid.`
  return `${first?.message} The same holds for ${ids.length} projects.`
}
