/** Writes the page. Text of strangers goes through {@link escapeHtml} or into JSON. */
import type { DescribedOffer } from './describe-offers.js'
import type { ResolvedPaywall } from './options.js'
import type { PageFiles } from './page-files.js'
import { escapeHtml, renderFrame } from './page-frame.js'
import type { PageData } from './page/page-data.js'
import type { PaywallTexts } from './texts/paywall-texts.js'

export interface PageParts {
  readonly files: PageFiles
  readonly nonce: string
  readonly options: ResolvedPaywall
  readonly texts: PaywallTexts
  readonly offers: readonly DescribedOffer[]
  /** In the currency of the price, if it has one. */
  readonly price: string | undefined
  readonly resource: { readonly url: string; readonly description?: string }
  /** Why an earlier payment was refused, for people. */
  readonly notice: string | undefined
  readonly data: PageData
}

export function renderPage(parts: PageParts): string {
  const { files, nonce, options, texts, resource, data } = parts
  const { locale, seller } = data
  const title = resource.description || texts.heading
  return renderFrame({
    files,
    nonce,
    options,
    locale,
    title,
    seller,
    body: `${resource.description ? `<p class="eyebrow">${escapeHtml(texts.heading)}</p>` : ''}
<h1>${escapeHtml(title)}</h1>
<dl>${facts(parts)}</dl>
${fallback(parts)}
<div id="pay"></div>`,
    scripts: `<script type="application/json" id="x402">${scriptJson(data)}</script>
<script type="module" nonce="${nonce}">${files.script}</script>
`,
  })
}

function facts({ texts, price, offers, resource, data }: PageParts): string {
  const [first] = data.document.accepts
  const rows: readonly (readonly [label: string, value: string, className?: string])[] = [
    ...(price === undefined ? [] : [[texts.price, price, 'price'] as const]),
    ...offers.flatMap(({ amount, network, testnet }) => [
      [texts.inTokens, amount] as const,
      [texts.network, testnet ? `${network} (${texts.testNetwork})` : network] as const,
    ]),
    [texts.seller, data.seller],
    [texts.paidTo, first?.payTo ?? '', 'code'],
    [texts.address, resource.url, 'code'],
  ]
  return rows
    .map(
      ([label, value, className = 'plain']) =>
        `<div><dt>${escapeHtml(label)}</dt><dd class="${className}">${escapeHtml(value)}</dd></div>`,
    )
    .join('')
}

/** For browsers without JavaScript, and after a form. */
function fallback({ texts, data, notice }: PageParts): string {
  if (!data.canRepeat) return `<p class="notice">${escapeHtml(texts.cannotRepeat)}</p>`
  const refused = notice === undefined ? '' : `<p class="notice">${escapeHtml(notice)}</p>`
  return `<noscript>${refused}<p class="notice">${escapeHtml(texts.noScript)}</p></noscript>`
}

/** JSON that can neither end its element nor begin a comment. */
function scriptJson(data: PageData): string {
  return JSON.stringify(data).replaceAll('<', '\\u003c')
}
