import type { Gateway } from '../gateway.js'
import type { Logger } from '../logger.js'

/** Level of a line, by the status of what was found. */
const LEVELS = { ok: 'info', warning: 'warn', error: 'error' } as const

/**
 * Logs what a gateway finds outside itself: a line for its ledger, each network, relayer, token,
 * project and rate, and its facilitator.
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
