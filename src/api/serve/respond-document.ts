import type { Response } from 'express'
import { sha256 } from '../../shared/crypto/sha256.js'

export interface Publication {
  readonly type: string
  readonly body: string
  /** The same, compressed with gzip; `undefined` where it is not worth it. */
  readonly compressed?: Buffer | undefined
  /** The entity tag (RFC 9110 §8.8.3). */
  readonly tag: string
}

export function tagOf(text: string): string {
  return `"${sha256(text, 'base64url').slice(0, 27)}"`
}

export function respondDocument(
  res: Response,
  { type, body, compressed, tag }: Publication,
  cacheControl: string,
): void {
  res.set({ 'Cache-Control': cacheControl, ETag: tag })
  if (compressed !== undefined) res.vary('Accept-Encoding')
  if (hasDocument(res.req.get('if-none-match'), tag)) return void res.status(304).end()
  res.type(type)
  if (compressed === undefined || res.req.acceptsEncodings(['gzip', 'identity']) !== 'gzip')
    return void res.send(body)
  res.set('Content-Encoding', 'gzip').end(compressed)
}

/**
 * Tells whether `If-None-Match` names a tag (RFC 9110 §13.1.2).
 *
 * Express's own comparison ignores the tag if the request has `Cache-Control: no-cache`, which Node's
 * `fetch` adds.
 */
function hasDocument(known: string | undefined, tag: string): boolean {
  const opaque = tag.replace(/^W\//, '')
  const tags = known?.split(',').map((one) => one.trim().replace(/^W\//, '')) ?? []
  return tags.includes(opaque) || tags.includes('*')
}
