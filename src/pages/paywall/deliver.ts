/** Delivers a purchase. */
import { data } from './data.js'
import { update, type KeptPayment } from './kept-payment.js'
import { prettyJson } from './pretty-json.js'

export type Delivery =
  /** The browser loads the purchase. */
  | { readonly kind: 'leaving' }
  /** Text, which may still grow. */
  | {
      readonly kind: 'text'
      readonly stream: ReadableStream<Uint8Array> | null
      readonly name: string
    }
  | Whole

/** A purchase that has arrived. */
export type Whole = { readonly bytes: number } & (
  | { readonly kind: 'json'; readonly json: string; readonly url: string; readonly name: string }
  | {
      readonly kind: 'media'
      readonly tag: 'img' | 'audio' | 'video'
      readonly shown: string
      readonly url: string
      readonly name: string
    }
  /** Saved already. */
  | { readonly kind: 'file'; readonly url: string; readonly name: string; readonly isPage: boolean }
)

/** Longest cookie for every browser, attributes included, with room to spare (bytes). */
const MAX_COOKIE_BYTES = 3800

/**
 * Whether the server ignored the cookie, as it does if the browser does not say that this page started
 * the navigation (Fetch Metadata). A server that reads the cookie removes it.
 */
const wasIgnored = document.cookie.split('; ').some((one) => one.startsWith(`${data.cookie}=`))

/**
 * @param payment - Presented again by a navigation if HTML was bought.
 * @param isSettled - Whether the response says so.
 */
export async function deliver(
  response: Response,
  payment: KeptPayment,
  isSettled: boolean,
): Promise<Delivery> {
  if (response.type === 'opaqueredirect')
    return leave(payment, true) ? { kind: 'leaving' } : Promise.reject(new Error('not followed'))
  const disposition = response.headers.get('Content-Disposition') ?? ''
  const [type = ''] = (response.headers.get('Content-Type') ?? '').toLowerCase().split(';', 1)
  const name = fileName(disposition, type)
  const isFile = /^\s*attachment/i.test(disposition)
  const [, media] = /^(image|audio|video)\//.exec(type) ?? []
  const isPage = type === 'text/html' || type === 'application/xhtml+xml'
  const isText = type.startsWith('text/') || /[/+](xml|x-?ndjson|jsonl|yaml)$/.test(type)
  if (isText && !isFile && !isPage && media === undefined)
    return { kind: 'text', stream: response.body, name }

  const blob = await response.blob()
  const bytes = blob.size
  if (isFile) return saveBlob(blob, { name, isPage: false })
  // The server has stored the response under the payment's id, unless it was too large.
  const isPaid = isSettled || payment.receipt.transaction !== undefined
  if (isPage && bytes <= data.maxStoredBytes && leave(payment, isPaid)) return { kind: 'leaving' }
  if (isPage) return saveBlob(blob, { name, isPage: true })
  if (type === 'application/json' || type.endsWith('+json'))
    return { kind: 'json', json: prettyJson(await blob.text()), url: asFile(blob), name, bytes }
  if (media === undefined) return saveBlob(blob, { name, isPage: false })
  const tag = media === 'image' ? 'img' : (media as 'audio' | 'video')
  return { kind: 'media', tag, shown: URL.createObjectURL(blob), url: asFile(blob), name, bytes }
}

/**
 * Shows HTML by loading this URL with the payment in a cookie, so that its scripts run under its own policy.
 *
 * @param isPaid - Otherwise the handler runs again, and what becomes of the payment is open.
 * @returns Whether that can work.
 */
export function leave(payment: KeptPayment, isPaid: boolean): boolean {
  // A semicolon would end the cookie's path and begin an attribute of a link's choice.
  if (!isSecureContext || location.pathname.includes(';')) return false
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  const attributes = `Path=${location.pathname}; Max-Age=60; SameSite=Strict${secure}`
  const cookie = `${data.cookie}=${payment.header}; ${attributes}`
  if (wasIgnored || cookie.length > MAX_COOKIE_BYTES) return false
  if (isPaid) update({ ...payment, received: 'again' })
  document.cookie = cookie
  // With the origin: a path that begins with two slashes would name another host.
  location.replace(location.origin + location.pathname + location.search)
  return true
}

function saveBlob(
  blob: Blob,
  file: { readonly name: string; readonly isPage: boolean },
): Extract<Delivery, { kind: 'file' }> {
  const url = asFile(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = file.name
  link.click()
  return { kind: 'file', url, bytes: blob.size, ...file }
}

/** With its own type, a browser might open and run a page instead of saving it. */
export function asFile(blob: Blob): string {
  return URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }))
}

/** Endings of files whose type does not name theirs. */
const ENDINGS: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/event-stream': 'txt',
  'text/javascript': 'js',
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'video/quicktime': 'mov',
  'application/gzip': 'gz',
  'application/epub+zip': 'epub',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
}

/** Ending of a file by its type: `image/png`, `application/x-ndjson` and `application/ld+json` name theirs. */
function endingOf(type: string): string {
  const [, named] = /[/+](?:x-)?([a-z\d]{2,6})$/.exec(type) ?? []
  const ending = ENDINGS[type] ?? named
  return ending === undefined ? '' : `.${ending}`
}

/** Name of a file: the seller's (RFC 6266), or the last part of the path, with an ending. */
function fileName(disposition: string, type: string): string {
  const [, encoded] = /filename\*\s*=\s*UTF-8''([^;\s]+)/i.exec(disposition) ?? []
  const [, quoted, plain] =
    /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(disposition) ?? []
  const named = decode(encoded) ?? quoted?.replaceAll(/\\(.)/g, '$1') ?? plain
  const given = named ?? decode(location.pathname.split('/').findLast(Boolean))
  const name = given?.replaceAll(/[/\\\p{Cc}]/gu, '_') || 'download'
  return named || /\.[a-z\d]{1,6}$/i.test(name) ? name : name + endingOf(type)
}

function decode(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text)
  } catch {
    return text
  }
}
