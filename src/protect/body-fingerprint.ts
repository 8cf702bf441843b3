import { createHash } from 'node:crypto'
import type { Request } from 'express'

/** Levels and characters of a body beyond which it is not told from others. */
const MAX_DEPTH = 128
const MAX_LENGTH = 4 * 1024 * 1024

/**
 * Tells bodies apart, to the last member: a price may depend on any part of them.
 *
 * Nothing counts as the same that a price function could tell apart: neither depth nor `null`s, nor
 * members that are `undefined`, nor the case of digits, nor the order of members.
 *
 * @returns `undefined` for a body of which that cannot be told: one that nobody has read yet, a form with files, one with
 * cycles, functions or objects of classes, and one that is too deep or too large.
 */
export function bodyFingerprint(req: Request): string | undefined {
  const { body } = req as { body?: unknown }
  if (hasBody(req) && (body === undefined || !req.readableEnded || isForm(req))) return undefined
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

/** Files of a form are no members of its parsed body. */
function isForm({ headers }: Request): boolean {
  return /^\s*multipart\//i.test(headers['content-type'] ?? '')
}

/** RFC 9112 §6.3: what has neither of these headers has no body. */
function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
}

type Write = (text: string) => boolean

/** Writes a value so that no other value is written alike. @returns Whether it could be. */
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
    // Members beside the numbered ones would be left out.
    if (Object.keys(value).length !== value.length) return false
    return write(`a${value.length}:`) && value.every((one) => writeValue(one, write, depth + 1))
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  const members = Object.entries(Object.getOwnPropertyDescriptors(value))
  // What is computed, or hidden, cannot be told from what it will be.
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
