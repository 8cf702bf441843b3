import { Router, type RequestHandler, type Response } from 'express'
import { RETRY_AFTER_SECONDS } from '../../shared/http/problem-status.js'
import type { Readiness } from './readiness.js'

/**
 * Creates the router of the probes.
 *
 * `/livez`: the process runs. `/readyz`: it can take payments; otherwise 503 with the reasons.
 */
export function createHealthRouter(read: () => Promise<Readiness>): Router {
  const live: RequestHandler = (_req, res) => write(res, 200, { status: 'ok' })
  const ready: RequestHandler = (_req, res, next) => {
    read()
      .then((found) => writeReadiness(res, found))
      .catch(next)
  }
  return Router().get('/livez', live).get('/readyz', ready)
}

function writeReadiness(res: Response, { isReady, checks }: Readiness): void {
  if (!isReady) res.set('Retry-After', String(RETRY_AFTER_SECONDS))
  write(res, isReady ? 200 : 503, { status: isReady ? 'ok' : 'unavailable', checks })
}

function write(res: Response, status: number, document: object): void {
  res.status(status).set({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  res.end(JSON.stringify(document))
}
