import { once } from 'node:events'
import type { Server } from 'node:http'
import express, { type RequestHandler } from 'express'
import { isLoopback, type ResolvedMetrics } from '../../gateway/config/resolve/metrics.js'
import { ConfigError } from '../../shared/errors.js'
import type { Gateway } from '../../gateway/gateway.js'

/**
 * Serves `/metrics` on an address of its own.
 *
 * @throws {@link ConfigError} if it cannot listen there.
 */
export async function serveMetrics(
  gateway: Pick<Gateway, 'metricsRouter'>,
  { host, port, token }: ResolvedMetrics,
): Promise<Server> {
  const app = express().disable('x-powered-by')
  if (token === undefined) app.use(requireLoopbackHost)
  app.use(gateway.metricsRouter())
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

/**
 * Refuses requests for other hosts than this machine: by DNS rebinding, any web page could read metrics
 * that need no token.
 */
const requireLoopbackHost: RequestHandler = (req, res, next) => {
  const host = req.headers.host?.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1') ?? ''
  if (isLoopback(host)) return next()
  res.status(421).type('text').send('Ask for localhost, or set a token for metrics.\n')
}
