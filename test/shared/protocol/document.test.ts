import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { parseDocument } from '../../../src/shared/protocol/document.js'

/** Path and message of everything that is wrong. */
function wrong(schema: z.ZodType, value: unknown): string[] {
  const parsed = parseDocument(schema, value)
  return parsed.ok ? [] : parsed.errors.map(({ path, message }) => `${path}: ${message}`)
}

describe('parseDocument', () => {
  it('returns a document of the right shape', () => {
    const schema = z.looseObject({ a: z.string() })
    expect(parseDocument(schema, { a: 'x', b: 1 })).toStrictEqual({
      ok: true,
      value: { a: 'x', b: 1 },
    })
  })

  it.each<[z.ZodType, unknown, string]>([
    [z.string(), undefined, ': is missing'],
    [z.string(), null, ': must be a string'],
    [z.number(), '1', ': must be a number'],
    [z.int(), 1.5, ': must be an integer'],
    [z.boolean(), 'yes', ': must be true or false'],
    [z.object({}), [], ': must be an object'],
    [z.record(z.string(), z.string()), 1, ': must be an object'],
    [z.array(z.string()), {}, ': must be an array'],
    [z.array(z.string()).min(1), [], ': must not be empty'],
    [z.date(), 1, ': must be date'],
    [z.enum(['a', 'b']), 'c', ": must be 'a' or 'b'"],
    [z.int().min(1), 0, ': must be at least 1'],
    [z.int().max(5), 6, ': must be at most 5'],
    [z.array(z.string()).max(1), ['a', 'b'], ': must have at most 1 entries'],
    [z.string().min(2), 'a', ': must have at least 2 characters'],
    [z.int().positive(), 0, ': must be more than 0'],
    [z.number().lt(5), 5, ': must be less than 5'],
    [z.string('must be a name'), 1, ': must be a name'],
  ])('explains what was expected', (schema, value, message) => {
    expect(wrong(schema, value)).toStrictEqual([message])
  })

  it('names each unknown member', () => {
    const schema = z.object({ inner: z.strictObject({ a: z.string() }) })
    expect(wrong(schema, { inner: { a: '', b: 1, c: 2 } })).toStrictEqual([
      'inner.b: there is no such member; there is a',
      'inner.c: there is no such member; there is a',
    ])
  })

  it('suggests the member that was probably meant', () => {
    const schema = z.strictObject({ payTo: z.string().optional(), currency: z.string().optional() })
    expect(wrong(schema, { payto: '', curency: '' })).toStrictEqual([
      "payto: there is no such member; did you mean 'payTo'?",
      "curency: there is no such member; did you mean 'currency'?",
    ])
  })

  it('explains the alternative that was meant, or all of them', () => {
    const schema = z.array(z.union([z.string(), z.strictObject({ a: z.string(), b: z.int() })]))
    expect(wrong(schema, [{ a: 1, c: 1 }])).toStrictEqual([
      '0.a: must be a string',
      '0.b: is missing',
      '0.c: there is no such member; there is a, b',
    ])
    expect(wrong(schema, [5])).toStrictEqual(['0: must be a string, or must be an object'])
  })

  it('names the mistakes of the alternative that fits best', () => {
    const named = z.strictObject({ name: z.string(), by: z.literal('x').optional() })
    const schema = z.union([z.strictObject({ a: z.string(), b: z.int() }), named])
    expect(wrong(schema, { name: 'n', by: 'y' })).toStrictEqual(["by: must be 'x'"])
    expect(wrong(schema, { a: 1, b: 2 })).toStrictEqual(['a: must be a string'])
  })

  it('never repeats its input', () => {
    const schema = z.object({ a: z.url(), b: z.string().regex(/^x$/), c: z.literal('y') })
    expect(wrong(schema, { a: 'hunter2', b: 'hunter2', c: 'hunter2' }).join()).not.toContain(
      'hunter2',
    )
  })
})
