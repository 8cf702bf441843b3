/** Keeps paid responses out of shared caches (RFC 9111 §5.2.2.7). */
import type { ServerResponse } from 'node:http'
import { setHead, type HeadArguments } from '../hold/response-head.js'
import { PAYMENT_RECEIPT } from '../../shared/protocol/mpp.js'
import { world } from '../../shared/world.js'

/**
 * Headers that override `Cache-Control` for caches of one kind or product: targeted fields (RFC 9213),
 * Surrogate-Control, and those of nginx, Akamai and LiteSpeed.
 */
const TARGETED =
  /^(?:.+-)?cdn-cache-control$|^surrogate-control$|^x-accel-expires$|^edge-control$|^x-litespeed-cache-control$/

/** Directives for shared caches, and `private`, which is added again. */
const REPLACED = /^(?:public|private|s-maxage|proxy-revalidate)$/

/** One directive. Its value may be quoted and contain commas. */
const DIRECTIVE = /(?:[^,"]|"(?:\\.|[^"\\])*")+/g

/**
 * Makes a response `private`, whatever its headers say about shared caches. How long the payer's own
 * cache may keep it does not change.
 */
export function keepPrivate(res: ServerResponse): void {
  for (const name of res.getHeaderNames()) if (TARGETED.test(name)) res.removeHeader(name)
  res.setHeader('Cache-Control', privateCacheControl(textOf(res.getHeader('Cache-Control'))))
  // HTTP/1.0 caches read only this header.
  if (Date.parse(textOf(res.getHeader('Expires'))) > world.now()) res.removeHeader('Expires')
  // MPP has it on 2xx alone, and the receipt of x402 stands beside it.
  if (res.statusCode >= 300) res.removeHeader(PAYMENT_RECEIPT)
}

/**
 * Rewrites a Cache-Control: `public, max-age=60` becomes `private, max-age=60`.
 *
 * @param value - The header's value; empty if there is none.
 */
function privateCacheControl(value: string): string {
  // With an unbalanced quote, the directives are unreadable.
  if (value.replaceAll(/"(?:\\.|[^"\\])*"/g, '').includes('"')) return 'private, no-store'
  const directives = (value.match(DIRECTIVE) ?? [])
    .map((directive) => directive.trim())
    .filter((directive) => {
      const [name = ''] = directive.split('=')
      return directive !== '' && !REPLACED.test(name.trim().toLowerCase())
    })
  return ['private', ...directives].join(', ')
}

/** Applies {@link keepPrivate} when the head of the response is written. @param amend - Changes it further. */
export function keepPrivateOnHead(res: ServerResponse, amend?: () => void): void {
  const { writeHead } = res
  res.writeHead = (...head: HeadArguments) => {
    // Node throws the right error.
    if (res.headersSent) return Reflect.apply(writeHead, res, head) as ServerResponse
    setHead(res, head)
    amend?.()
    keepPrivate(res)
    return writeHead.call(res, res.statusCode)
  }
}

function textOf(header: number | string | readonly string[] | undefined): string {
  return typeof header === 'object' ? header.join(', ') : String(header ?? '')
}
