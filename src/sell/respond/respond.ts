/** The responses of a paid route apart from its handler's. */
import type { Response } from 'express'
import { RETRY_AFTER_SECONDS, STATUS } from '../../shared/http/problem-status.js'
import { respondProblem, type Problem } from '../../shared/http/respond-problem.js'
import { EXPOSED_HEADERS } from '../../shared/protocol/headers.js'
import { PAYMENT_RECEIPT } from '../../shared/protocol/mpp.js'
import type { DocumentError } from '../../shared/protocol/document.js'
import { showProblem } from '../paywall/problem-page.js'
import type { Receipt } from '../route/payment-dialect.js'

/**
 * Responds with problem details that scripts of other origins can read, or with a page that a person
 * can. A 503 says when to present the same payment again.
 */
export function respondRouteProblem(res: Response, problem: Problem): void {
  const { code, retryAfterSeconds = RETRY_AFTER_SECONDS } = problem
  if (STATUS[code].route === 503) res.set('Retry-After', String(retryAfterSeconds))
  exposeHeaders(res)
  // Where it was settled before the handler ran.
  res.removeHeader(PAYMENT_RECEIPT)
  // Set here already, so that this header keeps its place before Content-Type.
  res.set('Cache-Control', 'no-store')
  if (!showProblem(res, problem.code)) respondProblem(res, 'route', problem)
}

/** Responds to a request that is not as its route declares, before it is asked to pay. */
export function respondInvalidInput(res: Response, errors: readonly DocumentError[]): void {
  const [first] = errors
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more, see errors)` : ''
  // The app's own messages may end in a full stop.
  const message = first?.message.replace(/\.$/, '')
  const detail = `${first?.path}: ${message}${more}. This request was not charged.`
  exposeHeaders(res)
  respondProblem(res, 'route', { code: 'invalid_request', detail, extensions: { errors } })
}

export function setReceipt(res: Response, receipt: Receipt): void {
  res.set(receipt)
  exposeHeaders(res, Object.keys(receipt))
}

const EXPOSE_HEADERS = 'Access-Control-Expose-Headers'
const ALL_EXPOSED = EXPOSED_HEADERS.join(', ')
const OURS: ReadonlySet<string> = new Set(EXPOSED_HEADERS.map((name) => name.toLowerCase()))

/** Lets scripts of other origins read our headers, and those in `more`, in addition to those that the app exposes. */
export function exposeHeaders(res: Response, more: readonly string[] = []): void {
  const value = res.getHeader(EXPOSE_HEADERS)
  const others = more.filter((name) => !OURS.has(name.toLowerCase()))
  if (value === undefined && others.length === 0) {
    res.setHeader(EXPOSE_HEADERS, ALL_EXPOSED)
    return
  }
  const exposed = String(value ?? '')
    .split(',')
    .map((header) => header.trim())
    .filter(Boolean)
  const missing = [...EXPOSED_HEADERS, ...others].filter(
    (header) => !exposed.some((one) => one.toLowerCase() === header.toLowerCase()),
  )
  if (missing.length > 0) res.setHeader(EXPOSE_HEADERS, [...exposed, ...missing].join(', '))
}
