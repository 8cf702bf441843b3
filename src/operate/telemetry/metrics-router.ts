import { timingSafeEqual } from 'node:crypto'
import { Router } from 'express'
import { digestToken } from '../../shared/crypto/identify-token.js'
import type { Metrics } from './metrics.js'

const BEARER = /^Bearer +(\S+) *$/i

/** Creates the router of `GET /metrics`. With a token, it requires `Authorization: Bearer`. */
export function createMetricsRouter(
  metrics: Pick<Metrics, 'text' | 'contentType'>,
  token: string | undefined,
): Router {
  const expected = token === undefined ? undefined : digestToken(token)
  return Router().get('/metrics', function respondMetrics(req, res, next) {
    res.set('Cache-Control', 'no-store')
    const given = BEARER.exec(req.get('authorization') ?? '')?.[1] ?? ''
    if (expected !== undefined && !timingSafeEqual(digestToken(given), expected))
      return void res.status(401).set('WWW-Authenticate', 'Bearer').end()
    metrics
      .text()
      .then((text) => void res.set('Content-Type', metrics.contentType).end(text))
      .catch(next)
  })
}
