/** Asks for one paid URL as strangers do: without a payment. */
import type { JsonResponse } from '../../../shared/http/fetch-json.js'
import {
  EXPOSED_HEADERS,
  PAYMENT_REQUIRED,
  PAYMENT_SIGNATURE,
} from '../../../shared/protocol/headers.js'
import { visible } from '../../../shared/protocol/visible-text.js'
import { checkOffer, type Asked } from './check-offer.js'
import { caution, fault, type DoctorFinding } from './doctor-finding.js'

/** Sends one request, bounded in time and bytes. */
export type Ask = (
  url: URL,
  method: 'GET' | 'POST' | 'HEAD' | 'OPTIONS',
  headers?: Readonly<Record<string, string>>,
) => Promise<JsonResponse>

export interface Route {
  readonly url: URL
  /** @defaultValue GET, or POST where there is no GET */
  readonly method?: 'GET' | 'POST' | undefined
}

export interface CheckedRoute {
  /** Method and URL without its query, which may be a secret. */
  readonly place: string
  readonly findings: readonly DoctorFinding[]
}

/** Stands for the website of a buyer. */
const ORIGIN = 'https://buyer.example'

export async function checkRoute(route: Route, ask: Ask): Promise<CheckedRoute> {
  const { url, method = 'GET' } = route
  const answer = await ask(url, method)
  const isElsewhere = [404, 405].includes(statusOf(answer)) && route.method === undefined
  if (isElsewhere && statusOf(await ask(url, 'POST')) === 402)
    return checkRoute({ url, method: 'POST' }, ask)
  const findings =
    statusOf(answer) === 402
      ? [...judge(answer, { url, method }), ...(await checkOtherMethods(answer, route, ask))]
      : judge(answer, { url, method })
  return { place: `${method} ${url.origin}${url.pathname}`, findings }
}

/** 0 without an answer. */
const statusOf = (answer: JsonResponse): number =>
  answer.kind === 'no_response' ? 0 : answer.status

function judge(answer: JsonResponse, asked: Asked): readonly DoctorFinding[] {
  if (answer.kind === 'no_response') return [unreachable(answer.reason)]
  const { kind, status, headers } = answer
  if (kind === 'too_long')
    return [fault('route', 'unexpected_answer', 'answers too much without a payment.')]
  if (status === 402) return checkOffer(answer, asked)
  if (status === 400 || status === 422) {
    const message = `answers ${status} without input: catalogues that send none cannot list it.`
    return [caution('route', 'unexpected_answer', message)]
  }
  const location = headers.get('location')
  const target = location && URL.canParse(location, asked.url.href) && new URL(location, asked.url)
  // A query may be secret.
  const redirect = target ? `, and leads to ${visible(target.origin + target.pathname)}` : ''
  const message = `answers ${status}, not 402${redirect}: check the URL, the proxy and x402Protect.`
  return [fault('route', 'unexpected_answer', message)]
}

/** @param reason - A code of Node, OpenSSL or undici, or the name of an error. */
export function unreachable(reason: string): DoctorFinding {
  if (reason === 'UND_ERR_HEADERS_OVERFLOW')
    return fault('route', 'header_too_large', 'sends more than 16 KiB of headers: offer less.')
  const words = reason === 'TimeoutError' ? 'no complete answer in time' : reason
  const message = `does not answer (${words}): check DNS, certificate, proxy and firewall.`
  return fault('route', 'public_url_unreachable', message)
}

/** Checks what monitors, and buyers in browsers, send besides. */
async function checkOtherMethods(
  paid: JsonResponse,
  { url, method = 'GET' }: Route,
  ask: Ask,
): Promise<readonly DoctorFinding[]> {
  const head = statusOf(await ask(url, 'HEAD'))
  const preflight = await ask(url, 'OPTIONS', {
    Origin: ORIGIN,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': PAYMENT_SIGNATURE.toLowerCase(),
  })
  const found: DoctorFinding[] = []
  const answered = { HEAD: head, OPTIONS: statusOf(preflight) }
  for (const [name, status] of Object.entries(answered)) {
    const isUnpaid = name === 'HEAD' && method === 'GET' && status >= 200 && status < 300
    if (status > 0 && status < 500 && !isUnpaid) continue
    const message = `answers ${name} with ${status || 'nothing'}: let x402Protect answer it.`
    found.push(caution('route', 'unexpected_answer', message))
  }
  if (!mayBePaidFromBrowsers(paid, preflight)) {
    const message = `buyers on other websites cannot pay: put cors() before x402Protect, allow ${PAYMENT_SIGNATURE} and expose ${EXPOSED_HEADERS.join(', ')}.`
    found.push(caution('route', 'cors_missing', message))
  }
  return found
}

function mayBePaidFromBrowsers(paid: JsonResponse, preflight: JsonResponse): boolean {
  if (paid.kind === 'no_response' || preflight.kind === 'no_response') return false
  const { status, headers } = preflight
  return (
    status < 300 &&
    ['*', ORIGIN].includes(headers.get('access-control-allow-origin') ?? '') &&
    lists(headers.get('access-control-allow-headers'), PAYMENT_SIGNATURE) &&
    lists(paid.headers.get('access-control-expose-headers'), PAYMENT_REQUIRED)
  )
}

function lists(header: string | null, name: string): boolean {
  const names = (header ?? '').split(',').map((one) => one.trim().toLowerCase())
  return names.includes('*') || names.includes(name.toLowerCase())
}
