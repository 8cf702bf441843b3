/** The page that people get instead of problem details. */
import type { Request, Response } from 'express'
import type { Merchant } from '../../core/merchants/project.js'
import { STATUS, type ProblemCode } from '../../shared/http/problem-status.js'
import { bringsPayment } from '../route/version-2.js'
import { resolvePaywall } from './options.js'
import type { CheckedPaywall, ResolvedPaywall, RoutePaywall } from './options.js'
import { setPageHeaders } from './page-headers.js'
import { pageFiles } from './page-files.js'
import { escapeHtml, renderFrame } from './page-frame.js'
import { cameByCookie, takePaymentCookie } from './payment-cookie.js'
import { prefersHtml, varyByAccept } from './prefers-html.js'
import type { PaywallTextKey, PaywallTexts } from './texts/paywall-texts.js'
import { fill, localeOf, textsOf } from './texts/languages.js'
import { messageOf } from './texts/message-of.js'
import { world } from '../../shared/world.js'

/** Responses for people, the page for their problems, and the merchant, if there is one. */
const readers = new WeakMap<Response, { readonly page: ProblemPage; merchant?: Merchant }>()

/** Whether a response is for a person. A payment in a header comes from a program. */
export function isForPerson(res: Response): boolean {
  return readers.has(res)
}

/** Gives the page for a response the name and the look of a merchant. */
export function nameSeller(res: Response, merchant: Merchant): void {
  const reader = readers.get(res)
  if (reader !== undefined) reader.merchant = merchant
}

/** Responds with a page if the response is for a person. @returns Whether it did. */
export function showProblem(res: Response, code: ProblemCode): boolean {
  const reader = readers.get(res)
  if (reader === undefined || pageFiles() === undefined) return false
  reader.page.respond(res, code, reader.merchant)
  return true
}

/** Outcomes of a payment link, which hold with or without a payment. */
const OF_CHECKOUTS: readonly ProblemCode[] = [
  'checkout_paid',
  'checkout_expired',
  'checkout_canceled',
]

/** Problems without a payment that have words of their own. */
const TOLD: readonly ProblemCode[] = ['merchant_paused', 'not_found', ...OF_CHECKOUTS]

/** Problems of a payment in a cookie that another visit cannot solve. */
const FINAL: readonly ProblemCode[] = [
  'idempotency_conflict',
  'answer_not_kept',
  'answer_too_large',
  ...OF_CHECKOUTS,
]

const messageKeys: Readonly<Partial<Record<ProblemCode, PaywallTextKey>>> = messageOf

/** The page of a route's problems. */
export class ProblemPage {
  readonly #optionsOf: (merchant?: Merchant) => ResolvedPaywall

  constructor(optionsOf: (merchant?: Merchant) => ResolvedPaywall) {
    this.#optionsOf = optionsOf
  }

  /** Finds out whether the response is for a person, and takes the payment from the cookie. */
  meet(req: Request, res: Response): void {
    if (!prefersHtml(req)) return
    takePaymentCookie(req, res)
    if (!bringsPayment(req) || cameByCookie(req)) readers.set(res, { page: this })
  }

  /** Responds with the page. The problem's own headers are set already. */
  respond(res: Response, code: ProblemCode, merchant?: Merchant): void {
    const files = pageFiles()
    if (files === undefined) throw new Error('The page of the paywall was not built.')
    const { req } = res
    const options = this.#optionsOf(merchant)
    const nonce = world.randomBytes(16).toString('base64')
    const locale = options.locale ?? localeOf(req)
    const texts = { ...textsOf(locale), ...options.texts }
    const seller = options.name ?? merchant?.name ?? req.get('host') ?? ''
    const html = renderFrame({
      files,
      nonce,
      options,
      locale,
      title: texts.notAvailable,
      seller,
      body: `<h1>${escapeHtml(texts.notAvailable)}</h1>
<p class="notice" role="alert">${escapeHtml(fill(texts[textOf(req, code)], { seller }))}</p>
${wayBack(res, texts, locale)}`,
    })
    setPageHeaders(res, { nonce, loadsLogo: options.logo?.startsWith('/') ?? false })
    varyByAccept(res)
    res.statusCode = STATUS[code].route
    res.setHeader('Content-Type', 'text/html; charset=utf-8')
    res.end(html)
  }
}

function textOf(req: Request, code: ProblemCode): PaywallTextKey {
  const known = cameByCookie(req) ? FINAL : TOLD
  const otherwise = cameByCookie(req) ? 'redeemLater' : 'closed'
  return (known.includes(code) ? messageKeys[code] : undefined) ?? otherwise
}

/**
 * A link to the same page, and how long to wait. Not after a form, which a link does not submit again.
 *
 * The page does not reload by itself, which would surprise users of screen readers (WCAG 2.2.1).
 */
function wayBack(res: Response, texts: PaywallTexts, locale: string): string {
  const seconds = Number(res.getHeader('Retry-After'))
  if (!(seconds > 0) || !['GET', 'HEAD'].includes(res.req.method)) return ''
  const style = { style: 'unit', unit: 'second', unitDisplay: 'long' } as const
  const time = new Intl.NumberFormat(locale, style).format(seconds)
  return `<p>${escapeHtml(fill(texts.waitFirst, { time }))}</p>
<p><a href="">${escapeHtml(texts.tryAgain)}</a></p>`
}

/** Makes a route's page for problems; `undefined` if browsers get JSON. */
export function openProblemPage(
  ofRoute: RoutePaywall | undefined,
  ofGateway: CheckedPaywall,
): ProblemPage | undefined {
  const optionsOf = (merchant?: Merchant) => resolvePaywall(ofRoute, ofGateway, merchant?.branding)
  return optionsOf() && new ProblemPage((merchant) => optionsOf(merchant)!)
}
