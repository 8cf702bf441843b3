/** The HTML frame of all pages. Text of strangers goes through {@link escapeHtml}. */
import { buttonColours } from './button-colours.js'
import type { ResolvedPaywall } from './options.js'
import type { PageFiles } from './page-files.js'
import { fill, textsOf } from './texts/languages.js'

export interface FramedPage {
  readonly files: PageFiles
  readonly nonce: string
  readonly options: ResolvedPaywall
  readonly locale: string
  readonly title: string
  readonly seller: string
  /** HTML of further elements of the head. @defaultValue none */
  readonly head?: string
  /** HTML below the seller. */
  readonly body: string
  /** HTML of scripts. @defaultValue none */
  readonly scripts?: string
}

/** Writes a page in the route's look. */
export function renderFrame(page: FramedPage): string {
  const { files, nonce, options, locale, title, seller, head = '', body, scripts = '' } = page
  return `<!doctype html>
<html lang="${escapeHtml(locale)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)} · ${escapeHtml(seller)}</title>
${head}<style nonce="${nonce}">${files.style}${buttonColours(options.accent)}</style>
</head>
<body>
<main>
<header>${logo(options.logo)}<p>${escapeHtml(seller)}</p>${wayBack(page)}</header>
${body}
</main>
${scripts}</body>
</html>
`
}

function logo(source: string | undefined): string {
  return source === undefined ? '' : `<img src="${escapeHtml(source)}" alt="" height="40">`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function wayBack({ options: { backUrl, texts }, locale, seller }: FramedPage): string {
  if (backUrl === undefined) return ''
  const { backToSeller } = { ...textsOf(locale), ...texts }
  const words = fill(backToSeller, { seller })
  return `<a class="back" href="${escapeHtml(backUrl)}">${escapeHtml(words)}</a>`
}

/** Escapes text for elements and attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
