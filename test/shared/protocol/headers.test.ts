import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  decodeHeader,
  encodeHeader,
  MAX_PAYMENT_HEADER_BYTES,
} from '../../../src/shared/protocol/headers.js'

const DOCUMENT = { a: '>>>???', b: 'ü€𝄞' }

describe('encodeHeader', () => {
  it('writes standard, padded base64 of JSON in UTF-8', () => {
    expect(encodeHeader({ a: '>>>?' })).toBe('eyJhIjoiPj4+PyJ9')
    expect(encodeHeader({})).toBe('e30=')
  })

  it('is reversed by decodeHeader for any document', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (document) => {
        const decoded = decodeHeader(encodeHeader(document))
        expect(decoded).toEqual({ ok: true, value: JSON.parse(JSON.stringify(document)) })
      }),
      { numRuns: 200 },
    )
  })
})

describe('decodeHeader', () => {
  const standard = encodeHeader(DOCUMENT)
  const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_')

  it.each([
    ['standard base64', standard],
    ['base64url', urlSafe],
    ['without padding', standard.replaceAll('=', '')],
    ['with spaces around it', ` ${standard} `],
  ])('accepts %s', (_name, text) => {
    expect(decodeHeader(text)).toStrictEqual({ ok: true, value: DOCUMENT })
  })

  const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64')

  it.each([
    ['nothing', ''],
    ['only spaces', '   '],
    ['two headers in one', `${standard}, ${standard}`],
    ['plain JSON', '{"a":1}'],
    ['spaces inside', 'e3 0='],
    ['padding in the middle', 'e30=e30='],
    ['too much padding', 'e30==='],
    ['no JSON', base64('hello')],
    ['JSON cut short', base64('{"a":')],
    ['what is not UTF-8', base64('{"a":"\xff"}')],
  ])('refuses %s with a reason', (_name, text) => {
    expect(decodeHeader(text)).toStrictEqual({ ok: false, problem: expect.stringMatching(/^it/) })
  })

  it('refuses a header of more than 16 KB, and accepts one of 16 KB', () => {
    const document = JSON.stringify({ a: 'x'.repeat((MAX_PAYMENT_HEADER_BYTES * 3) / 4 - 8) })
    const longest = base64(document)
    expect(longest).toHaveLength(MAX_PAYMENT_HEADER_BYTES)
    expect(decodeHeader(longest).ok).toBe(true)
    expect(decodeHeader(`${longest}A`)).toMatchObject({ ok: false })
  })
})
