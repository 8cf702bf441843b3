import { describe, expect, it } from '@jest/globals'
import { bodyFingerprint } from '../../../src/sell/route/body-fingerprint.js'

const JSON_HEADERS = { 'content-length': '9', 'content-type': 'application/json' }

interface Arrival {
  readonly isRead?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** The fingerprint of a body that was parsed into this. */
const of = (body: unknown, { isRead = true, headers = JSON_HEADERS }: Arrival = {}) =>
  bodyFingerprint({ body, isRead, header: (name) => headers[name] })

const nested = (depth: number, core: unknown): unknown =>
  depth === 0 ? core : { in: nested(depth - 1, core) }

describe('the fingerprint of a body', () => {
  it('is the same for the same body', () => {
    const body = () => ({ a: [1, 'x', null, true], b: { c: 'ä', d: -0 } })
    expect(of(body())).toMatch(/^[\w-]{43}$/)
    expect(of(body())).toBe(of(body()))
    expect(of(Buffer.from('x'))).toBe(of(Buffer.from('x')))
  })

  it.each<[string, unknown, unknown]>([
    ['depth', nested(40, 'small'), nested(40, 'large')],
    ['nulls', { a: 1 }, { a: 1, b: null }],
    ['nulls in lists', [1, null], [1]],
    ['undefined members', { a: 1 }, { a: 1, b: undefined }],
    ['undefined and null', { a: undefined }, { a: null }],
    ['the case of digits', { a: '0xab' }, { a: '0xAB' }],
    ['the order of members', { a: 1, b: 2 }, { b: 2, a: 1 }],
    ['names of networks', { network: 'base' }, { network: 'eip155:8453' }],
    ['types', { a: 1 }, { a: '1' }],
    ['signs of zero', [0], [-0]],
    ['lists and objects', ['a'], { 0: 'a' }],
    ['texts and bytes', 'eA==', Buffer.from('x')],
    ['where a text ends', ['ab', 'c'], ['a', 'bc']],
    ['what passes for another type', ['s1:x'], ['x']],
    ['the name of a prototype', JSON.parse('{"__proto__":1}'), {}],
  ])('covers every part of a body: %s', (_what, one, other) => {
    expect(of(one)).toBeDefined()
    expect(of(other)).toBeDefined()
    expect(of(one)).not.toBe(of(other))
  })

  it('is undefined for a body that cannot be told from others', () => {
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    class Upload {
      name = 'x'
    }
    const hidden = Object.defineProperty({}, 'a', { value: 1 })
    const computed = {
      get a() {
        return Math.random()
      },
    }
    for (const body of [
      ...[cycle, { f: () => 1 }, { s: Symbol('s') }, new Upload(), new Map(), new Date()],
      ...[nested(200, 1), 'x'.repeat(5_000_000), hidden, computed, { [Symbol('s')]: 1 }],
      Object.assign([1], { more: 2 }),
    ])
      expect(of(body)).toBeUndefined()
  })

  it('is undefined for a body that nobody has read', () => {
    const unread = { isRead: false }
    expect(of(undefined, unread)).toBeUndefined()
    // Parsers of Express 4 leave this where they parse nothing.
    expect(of({}, unread)).toBeUndefined()
    expect(of(undefined)).toBeUndefined()
    const chunked = { ...unread, headers: { 'transfer-encoding': 'chunked' } }
    expect(of(undefined, chunked)).toBeUndefined()
    const form = { headers: { 'content-length': '9', 'content-type': 'multipart/form-data; b=1' } }
    expect(of({ field: '1' }, form)).toBeUndefined()
  })

  it('is that of an empty body if there is no body', () => {
    expect(of(undefined, { isRead: false, headers: {} })).toBe('')
    expect(of(undefined, { headers: { 'content-length': '0' } })).toBe('')
  })
})
