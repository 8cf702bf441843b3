import cluster from 'node:cluster'
import type { Environment } from './environment.js'
import type { Logger } from '../logger.js'

let hasWarned = false

/**
 * Warns, once a process, of a ledger in memory where other processes serve the same app.
 *
 * Each would have a ledger of its own: what one has honoured, another honours once more.
 */
export function warnOfCluster(logger: Logger, env: Environment = process.env): void {
  if (hasWarned || !isOneOfSeveral(env)) return
  hasWarned = true
  logger.warn(
    'This process is one of several, and its payments are kept in its own memory: the same payment ' +
      'may be honoured by each of them. Share a ledger: X402_DATABASE_URL, or the option ledger.',
  )
}

/** Tells workers of `node:cluster`, and all but the first instance that pm2 runs. */
function isOneOfSeveral(env: Environment): boolean {
  return cluster.isWorker || Number(env['NODE_APP_INSTANCE']) > 0
}
