/** Writes the page. Text of strangers goes through {@link escapeHtml} or into JSON. */
import { fill } from './texts/languages.js'
import type { ResolvedPaywall } from './options.js'
import type { PageFiles } from './page-files.js'
import { escapeHtml, renderFrame } from './page-frame.js'
import type { PageData } from './page-data.js'
import type { PaywallTexts } from './texts/paywall-texts.js'

export interface PageParts {
  readonly files: PageFiles
  readonly nonce: string
  readonly options: ResolvedPaywall
  readonly texts: PaywallTexts
  readonly resource: { readonly url: string; readonly description?: string }
  /** Why an earlier payment was refused, for people. */
  readonly notice: string | undefined
  /** What was refunded, for people. */
  readonly refund: string | undefined
  readonly data: PageData
}

export function renderPage(parts: PageParts): string {
  const { files, nonce, options, texts, resource, refund, data } = parts
  const { locale, seller, title, offers } = data
  return renderFrame({
    files,
    nonce,
    options,
    locale,
    title,
    seller,
    head: previewTags(parts),
    body: `${resource.description && offers.length > 0 ? `<p class="eyebrow">${escapeHtml(texts.heading)}</p>` : ''}
<h1>${escapeHtml(title)}</h1>
${refund === undefined ? '' : `<p class="notice wait">${escapeHtml(refund)}</p>`}
<div id="pay">${terms(parts)}${fallback(parts)}</div>
${details(parts)}`,
    scripts: `<script type="application/json" id="x402">${scriptJson(data)}</script>
<script type="module" nonce="${nonce}">${files.script}</script>
`,
  })
}

/** Price and amounts, which the page's script shows in its own way. */
function terms({ texts, data: { offers, price } }: PageParts): string {
  const badge = `<span class="badge">${escapeHtml(texts.testBadge)}</span>`
  const amounts = offers.map(({ amount, network, testnet }) => {
    const words = fill(texts.onNetwork, { amount, network })
    return `<p>${escapeHtml(words)}${testnet ? ` ${badge}` : ''}</p>`
  })
  const shown = price === undefined ? '' : `<p class="price">${escapeHtml(price)}</p>`
  return shown + [...new Set(amounts)].join('')
}

/** Facts that few people need before they pay. */
function details({ texts, resource, data }: PageParts): string {
  const payTo = data.document.accepts[0]?.payTo
  const rows: readonly (readonly [label: string, value: string, attributes?: string])[] = [
    ...(resource.description ? [[texts.item, resource.description] as const] : []),
    [texts.seller, data.seller],
    ...(payTo === undefined
      ? []
      : [[texts.paidTo, payTo, `class="code" data-copy="${escapeHtml(payTo)}"`] as const]),
    [texts.address, shortUrl(resource.url), 'class="code"'],
  ]
  const list = rows.map(
    ([label, value, attributes = '']) =>
      `<div><dt>${escapeHtml(label)}</dt><dd ${attributes}>${escapeHtml(value)}</dd></div>`,
  )
  return `<details><summary>${escapeHtml(texts.details)}</summary><dl>${list.join('')}</dl></details>`
}

/** Host and path: a query may be long and says nothing to people. */
function shortUrl(url: string): string {
  if (!URL.canParse(url)) return url
  const { host, pathname } = new URL(url)
  return host + pathname
}

/** For browsers without JavaScript, and after a form. */
function fallback({ texts, data, notice }: PageParts): string {
  if (!data.canRepeat) return `<p class="notice">${escapeHtml(texts.cannotRepeat)}</p>`
  const refused = notice === undefined ? '' : `<p class="notice">${escapeHtml(notice)}</p>`
  if (data.offers.length === 0) return refused
  return `<noscript>${refused}<p class="notice">${escapeHtml(texts.noScript)}</p></noscript>`
}

/** What chat apps show of a link (Open Graph). */
function previewTags({ options, resource, texts, data }: PageParts): string {
  const { title, price, offers, seller } = data
  const { url } = resource
  const description = `${price ?? offers[0]?.amount ?? texts.heading} · ${seller}`
  const logo = options.logo?.startsWith('/') && URL.canParse(url) && new URL(options.logo, url).href
  const tags = [
    ['og:type', 'website'],
    ['og:title', title],
    ['og:description', description],
    ['og:site_name', seller],
    ['og:url', url],
    ...(logo ? [['og:image', logo]] : []),
  ]
  const written = tags.map(
    ([name = '', content = '']) => `<meta property="${name}" content="${escapeHtml(content)}">\n`,
  )
  return `<meta name="description" content="${escapeHtml(description)}">\n${written.join('')}`
}

/** JSON that can neither end its element nor begin a comment. */
function scriptJson(data: PageData): string {
  return JSON.stringify(data).replaceAll('<', '\\u003c')
}
