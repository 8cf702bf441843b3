/** Delivers a purchase. */
import { data } from './data.js'
import { keep, readKept } from './kept-payment.js'
import { prettyJson } from './pretty-json.js'

export type Delivery =
  /** The browser loads the purchase. */
  | { readonly kind: 'leaving' }
  /** Text, which may still grow. */
  | { readonly kind: 'text'; readonly stream: ReadableStream<Uint8Array> | null }
  | { readonly kind: 'json'; readonly json: string }
  | { readonly kind: 'media'; readonly tag: 'img' | 'audio' | 'video'; readonly url: string }
  /** Saved already. */
  | { readonly kind: 'file'; readonly url: string; readonly name: string; readonly isPage: boolean }

/** Longest cookie for every browser, attributes included, with room to spare (bytes). */
const MAX_COOKIE_BYTES = 3800

/**
 * Whether the server ignored the cookie, as it does if the browser does not say that this page started
 * the navigation (Fetch Metadata). A server that reads the cookie removes it.
 */
const wasIgnored = document.cookie.split('; ').some((one) => one.startsWith(`${data.cookie}=`))

export async function deliver(response: Response): Promise<Delivery> {
  if (response.type === 'opaqueredirect') return leaveOr(() => ({ kind: 'leaving' }))
  const disposition = response.headers.get('Content-Disposition') ?? ''
  const [type = ''] = (response.headers.get('Content-Type') ?? '').toLowerCase().split(';', 1)
  if (/^\s*attachment/i.test(disposition)) return saveFile(response, disposition)
  if (type === 'text/html' || type === 'application/xhtml+xml') return deliverPage(response)
  if (type === 'application/json' || type.endsWith('+json'))
    return { kind: 'json', json: prettyJson(await response.text()) }
  if (type.startsWith('image/')) return showMedia(response, 'img')
  if (type.startsWith('audio/')) return showMedia(response, 'audio')
  if (type.startsWith('video/')) return showMedia(response, 'video')
  if (type.startsWith('text/') || /[/+](xml|x-?ndjson|jsonl|yaml)$/.test(type))
    return { kind: 'text', stream: response.body }
  return saveFile(response, disposition)
}

/**
 * Shows HTML by loading it, so that its scripts run under its own policy. The server has stored the response
 * under the payment's id, unless it was too large.
 */
async function deliverPage(response: Response): Promise<Delivery> {
  const page = await response.blob()
  const asFile = (): Delivery => saveBlob(page, { name: 'page.html', isPage: true })
  return page.size > data.maxStoredBytes ? asFile() : leaveOr(asFile)
}

/** Reloads this URL with the payment in a cookie, if that can work. */
function leaveOr(otherwise: () => Delivery): Delivery {
  const kept = readKept()
  // A semicolon would end the cookie's path and begin an attribute of a link's choice.
  if (kept === undefined || !isSecureContext || location.pathname.includes(';')) return otherwise()
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  const attributes = `Path=${location.pathname}; Max-Age=60; SameSite=Strict${secure}`
  const cookie = `${data.cookie}=${kept.header}; ${attributes}`
  if (wasIgnored || cookie.length > MAX_COOKIE_BYTES) return otherwise()
  keep({ ...kept, isDelivered: true })
  document.cookie = cookie
  // With the origin: a path that begins with two slashes would name another host.
  location.replace(location.origin + location.pathname + location.search)
  return { kind: 'leaving' }
}

async function showMedia(response: Response, tag: 'img' | 'audio' | 'video'): Promise<Delivery> {
  return { kind: 'media', tag, url: URL.createObjectURL(await response.blob()) }
}

async function saveFile(response: Response, disposition: string): Promise<Delivery> {
  return saveBlob(await response.blob(), { name: fileName(disposition), isPage: false })
}

function saveBlob(blob: Blob, file: { readonly name: string; readonly isPage: boolean }): Delivery {
  // With its own type, a browser might open and run a page instead of saving it.
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = file.name
  link.click()
  return { kind: 'file', url, ...file }
}

/** Name of a file: the seller's (RFC 6266), or the last part of the path. */
function fileName(disposition: string): string {
  const [, encoded] = /filename\*\s*=\s*UTF-8''([^;\s]+)/i.exec(disposition) ?? []
  const [, quoted, plain] =
    /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(disposition) ?? []
  const named = decode(encoded) ?? quoted?.replaceAll(/\\(.)/g, '$1') ?? plain
  const name = named ?? decode(location.pathname.split('/').findLast(Boolean)) ?? ''
  return name.replaceAll(/[/\\\p{Cc}]/gu, '_') || 'download'
}

function decode(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text)
  } catch {
    return text
  }
}
