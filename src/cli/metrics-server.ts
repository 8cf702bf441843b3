import { once } from 'node:events'
import type { Server } from 'node:http'
import express from 'express'
import type { ResolvedMetrics } from '../config/metrics.js'
import { ConfigError } from '../errors.js'
import type { Gateway } from '../gateway.js'

/**
 * Serves `/metrics` on an address of its own.
 *
 * @throws {@link ConfigError} where it cannot listen there.
 */
export async function serveMetrics(
  gateway: Pick<Gateway, 'metricsRouter'>,
  { host, port }: ResolvedMetrics,
): Promise<Server> {
  const app = express().disable('x-powered-by').use(gateway.metricsRouter())
  const server = app.listen(port, host)
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const isTaken = code === 'EADDRINUSE'
    const message = isTaken ? 'is in use; choose another' : `cannot be listened on (${code})`
    throw new ConfigError('metrics.port', `${port} on ${host} ${message}`, 'unusable_address')
  }
}
