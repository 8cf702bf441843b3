import cluster from 'node:cluster'
import type { Environment } from './environment.js'
import type { Logger } from '../logger.js'

let hasWarned = false

/**
 * Warns, once per process, of a ledger in memory: where several processes serve the same app, and in
 * production.
 *
 * Each of several processes would have a ledger of its own, and honour a payment that another has
 * honoured.
 */
export function warnOfMemory(logger: Logger, env: Environment = process.env): void {
  const warning = isOneOfSeveral(env)
    ? 'This process is one of several, and its payments are kept in its own memory: the same payment ' +
      'may be honoured by each of them. Share a ledger: X402_DATABASE_URL, or the option ledger.'
    : env['NODE_ENV'] === 'production' &&
      'Payments are kept in memory, and those under way are forgotten when the process ends. Keep ' +
        'them in a database: X402_DATABASE_URL, or the option ledger.'
  if (hasWarned || warning === false) return
  hasWarned = true
  logger.warn(warning)
}

/** Detects workers of `node:cluster`, and all but the first instance of pm2. */
function isOneOfSeveral(env: Environment): boolean {
  return cluster.isWorker || Number(env['NODE_APP_INSTANCE']) > 0
}
