/** Keeps what was paid for out of shared caches (RFC 9111 § 5.2.2.7). */
import type { ServerResponse } from 'node:http'
import { setHead, type HeadArguments } from './response-head.js'

/**
 * Headers by which caches of one kind or product are told more than `Cache-Control` says: targeted
 * fields (RFC 9213), Surrogate-Control, and those of nginx, Akamai and LiteSpeed. They win over it.
 */
const TARGETED =
  /^(?:.+-)?cdn-cache-control$|^surrogate-control$|^x-accel-expires$|^edge-control$|^x-litespeed-cache-control$/

/** Directives that speak to shared caches, and `private`, which is written anew. */
const REPLACED = /^(?:public|private|s-maxage|proxy-revalidate)$/

/** One directive; its value may be quoted and hold commas. */
const DIRECTIVE = /(?:[^,"]|"(?:\\.|[^"\\])*")+/g

/**
 * Makes a response `private`, whatever it says of shared caches. How long the payer's own cache may
 * keep it stays as it is.
 */
export function keepPrivate(res: ServerResponse): void {
  for (const name of res.getHeaderNames()) if (TARGETED.test(name)) res.removeHeader(name)
  res.setHeader('Cache-Control', privateCacheControl(textOf(res.getHeader('Cache-Control'))))
  // Caches of HTTP/1.0 know nothing else.
  if (Date.parse(textOf(res.getHeader('Expires'))) > Date.now()) res.removeHeader('Expires')
}

/**
 * Rewrites a Cache-Control: `public, max-age=60` becomes `private, max-age=60`.
 *
 * @param value - Empty where there is none.
 */
function privateCacheControl(value: string): string {
  // What cannot be read is not kept anywhere.
  if (value.replaceAll(/"(?:\\.|[^"\\])*"/g, '').includes('"')) return 'private, no-store'
  const directives = (value.match(DIRECTIVE) ?? [])
    .map((directive) => directive.trim())
    .filter((directive) => {
      const [name = ''] = directive.split('=')
      return directive !== '' && !REPLACED.test(name.trim().toLowerCase())
    })
  return ['private', ...directives].join(', ')
}

/** {@link keepPrivate} for an answer that is yet to be written: when its head is. */
export function keepPrivateOnHead(res: ServerResponse): void {
  const { writeHead } = res
  res.writeHead = (...head: HeadArguments) => {
    // Node says what is wrong with it.
    if (res.headersSent) return Reflect.apply(writeHead, res, head) as ServerResponse
    setHead(res, head)
    keepPrivate(res)
    return writeHead.call(res, res.statusCode)
  }
}

function textOf(header: number | string | readonly string[] | undefined): string {
  return typeof header === 'object' ? header.join(', ') : String(header ?? '')
}
