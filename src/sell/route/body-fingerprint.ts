import { createHash } from 'node:crypto'
import type { RequestView } from './request-view.js'

/** Levels of nesting beyond which a body has no fingerprint. */
const MAX_DEPTH = 128

/** Characters of its canonical form beyond which a body has no fingerprint. */
const MAX_LENGTH = 4 * 1024 * 1024

type BodyView = Pick<RequestView, 'body' | 'isRead' | 'header'>

/**
 * Hashes the parsed body of a request. Bodies have the same fingerprint only when they are identical:
 * a price may depend on any part of a body.
 *
 * Whatever a price function could distinguish counts: depth, `null`, members that are `undefined`, the
 * case of digits, and the order of members.
 *
 * @returns The hash; an empty string for a request without a body; `undefined` for a body that cannot
 * be compared: not parsed, a form with files, one with cycles, functions or class instances, and one
 * that is too deep or too large.
 */
export function bodyFingerprint(view: BodyView): string | undefined {
  const { body } = view
  if (hasBody(view) && (body === undefined || !view.isRead || isForm(view))) return undefined
  if (body === undefined) return ''
  const hash = createHash('sha256')
  let length = 0
  const write = (text: string): boolean => {
    length += text.length
    if (length > MAX_LENGTH) return false
    hash.update(text)
    return true
  }
  return writeValue(body, write, 0) ? hash.digest('base64url') : undefined
}

/** The digest of a body that has a fingerprint (RFC 9530), if that tells its bytes, as JSON without spaces does. */
export function bodyDigest(view: BodyView): string | undefined {
  const { body } = view
  const isJson = /^application\/(?:.+\+)?json\b/i.test(view.header('content-type') ?? '')
  // A parser may make a `bigint` of a number.
  const safe = (_name: string, value: unknown) => (typeof value === 'bigint' ? null : value)
  const content = isJson && !Buffer.isBuffer(body) ? JSON.stringify(body, safe) : body
  if (typeof content !== 'string' && !Buffer.isBuffer(content)) return undefined
  if (Buffer.byteLength(content) !== Number(view.header('content-length'))) return undefined
  return `sha-256=:${createHash('sha256').update(content).digest('base64')}:`
}

/** The files of a form are not members of its parsed body. */
function isForm(view: BodyView): boolean {
  return /^\s*multipart\//i.test(view.header('content-type') ?? '')
}

/** A request with neither of these headers has no body (RFC 9112 §6.3). */
function hasBody(view: BodyView): boolean {
  const length = Number(view.header('content-length') ?? 0)
  return view.header('transfer-encoding') !== undefined || length !== 0
}

type Write = (text: string) => boolean

/** Writes a value so that no other value has the same text. @returns Whether that is possible. */
function writeValue(value: unknown, write: Write, depth: number): boolean {
  if (depth > MAX_DEPTH) return false
  switch (typeof value) {
    case 'string':
      return write(`s${value.length}:${value}`)
    case 'number':
      return write(Object.is(value, -0) ? 'n-0;' : `n${value};`)
    case 'bigint':
      return write(`i${value};`)
    case 'boolean':
      return write(value ? 't' : 'f')
    case 'undefined':
      return write('u')
    case 'object':
      return value === null ? write('0') : writeObject(value, write, depth)
    default:
      return false
  }
}

function writeObject(value: object, write: Write, depth: number): boolean {
  if (value instanceof Uint8Array)
    return write(`b${value.length}:${Buffer.from(value).toString('base64')}`)
  if (Object.getOwnPropertySymbols(value).length > 0) return false
  if (Array.isArray(value)) {
    // Members without an index would be left out.
    if (Object.keys(value).length !== value.length) return false
    return write(`a${value.length}:`) && value.every((one) => writeValue(one, write, depth + 1))
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  const members = Object.entries(Object.getOwnPropertyDescriptors(value))
  // A getter may return something else later, and a hidden member would be left out.
  const isOpen = members.every(([, { enumerable, get }]) => enumerable === true && !get)
  if (!isPlain || !isOpen) return false
  return (
    write(`o${members.length}:`) &&
    members.every(
      ([name, { value: member }]) =>
        write(`k${name.length}:${name}`) && writeValue(member, write, depth + 1),
    )
  )
}
