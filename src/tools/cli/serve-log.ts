/** The log of `serve`: lines of JSON about requests, payments, and the check at start. */
import type { RequestHandler } from 'express'
import type { Gateway } from '../../gateway/gateway.js'
import type { Finding } from '../../operate/health/finding.js'
import { groupBy } from '../../shared/group-by.js'
import { onceClosed } from '../../shared/http/once-closed.js'
import { isFromTrustedProxy } from '../../shared/http/public-url.js'
import { ensureRequestId } from '../../shared/http/request-id.js'
import { plainError, type Logger } from '../../shared/logger.js'
import type { CliContext } from './command.js'

const MAX_PATH = 1024

const LEVELS = { ok: 'info', warning: 'warn', error: 'error' } as const

const MAX_NAMED = 20

/** Logs each message as one line of JSON to standard error. */
export function jsonLogger({ complain }: Pick<CliContext, 'complain'>): Logger {
  const log =
    (level: string) =>
    (message: string, fields?: object): void =>
      complain(logLine(level, message, fields))
  return { debug: () => undefined, info: log('info'), warn: log('warn'), error: log('error') }
}

/** Writes errors as message, code and cause, which contain no secrets. */
function logLine(level: string, message: string, fields: object = {}): string {
  const describe = (_name: string, value: unknown): unknown => {
    if (typeof value === 'bigint') return value.toString()
    return value instanceof Error ? { ...plainError(value), stack: undefined } : value
  }
  return JSON.stringify({ level, time: new Date().toISOString(), message, ...fields }, describe)
}

export function logPayments(gateway: Pick<Gateway, 'on'>, logger: Logger): void {
  gateway.on('settled', (payment) => logger.info('A payment is settled.', fieldsOf(payment)))
  gateway.on('pending', (payment) => logger.warn('A payment is pending.', fieldsOf(payment)))
  gateway.on('failed', (payment) => logger.warn('A payment has failed.', fieldsOf(payment)))
  gateway.on('refundSettled', (refund) => logger.info('A refund is settled.', fieldsOf(refund)))
  gateway.on('refundPending', (refund) => logger.warn('A refund is pending.', fieldsOf(refund)))
  gateway.on('refundFailed', (refund) => logger.warn('A refund has failed.', fieldsOf(refund)))
}

/** A URL's query may hold what is the buyer's alone. */
function fieldsOf(payment: { readonly resource?: string | undefined }): object {
  const { resource: _url, ...fields } = payment
  return fields
}

/**
 * Gives each request an id, and logs it when it ends if there is a `write`. Query and headers may hold
 * secrets and are left out.
 */
export function logAccess(write: ((fields: object) => void) | undefined): RequestHandler {
  return function identifyRequest(req, res, next) {
    const requestId = ensureRequestId(req, res)
    if (write === undefined) return next()
    const startedAt = performance.now()
    // Routers change `req.url` while they run.
    const { method, path, ip } = req
    onceClosed(res, () => {
      const project = (res.locals['x402Project'] as { readonly id: string } | undefined)?.id
      write({
        requestId,
        method,
        path: path.slice(0, MAX_PATH),
        status: res.statusCode,
        ms: Math.round((performance.now() - startedAt) * 10) / 10,
        ...(project !== undefined && { project }),
        ip,
        ...(!res.writableFinished && { aborted: true }),
      })
    })
    next()
  }
}

/**
 * Warns once about a proxy that is not trusted. All clients behind it share one address, and so one rate
 * limit.
 */
export function warnOfProxy(logger: Logger): RequestHandler {
  let isDone = false
  return function warnOnce(req, _res, next) {
    if (!isDone && req.headers['x-forwarded-for'] !== undefined && !isFromTrustedProxy(req)) {
      isDone = true
      logger.warn(
        'Ignored X-Forwarded-For from an address that is not trusted. If that is your proxy, set X402_TRUST_PROXY (--trust-proxy, trustProxy): until then, all clients share the limits of its address.',
        { ip: req.socket.remoteAddress },
      )
    }
    next()
  }
}

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

type Line = Finding & { readonly projects?: readonly string[] }

/** Joins what was found of many projects: hundreds of lines at each start would hide all others. */
function withoutRepetitions(found: readonly Finding[]): readonly Line[] {
  const kindOf = ({ project, subject, status, code, message }: Finding, index: number): string => {
    // Findings of one code differ: another token, another rate. That a project can be paid is always the same.
    const isPaid = status === 'ok' && subject === 'project'
    const about = isPaid || project === undefined ? '' : message.replaceAll(project, '')
    return project === undefined ? String(index) : `${subject} ${status} ${code} ${about}`
  }
  return [...groupBy(found, kindOf).values()].map(joined)
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
