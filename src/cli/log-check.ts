import type { Gateway } from '../gateway.js'
import type { Logger } from '../logger.js'

/** Log level of a finding. */
const LEVELS = { ok: 'info', warning: 'warn', error: 'error' } as const

/**
 * Logs a gateway's check: a line each for its ledger, facilitator, networks, relayers, tokens, projects
 * and rates.
 *
 * @param signal - Once aborted, nothing is logged.
 */
export async function logCheck(
  gateway: Pick<Gateway, 'check'>,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> {
  const found = await gateway.check()
  if (signal.aborted) return
  for (const { status, message, ...details } of found) logger[LEVELS[status]](message, details)
}
