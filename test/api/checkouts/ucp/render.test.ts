import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { formatJson, fillTemplate, readTemplate } from '../../../../src/api/checkouts/ucp/render.js'

describe('readTemplate', () => {
  it('names the missing file and the likely reason', () => {
    const read = () => readTemplate('/nowhere/gateway.md')
    expect(read).toThrow('template at /nowhere/gateway.md')
    expect(read).toThrow('external in your bundler')
    expect(read).toThrow(
      expect.objectContaining({ cause: expect.objectContaining({ code: 'ENOENT' }) }),
    )
  })
})

describe('fillTemplate', () => {
  it('puts strings in as they are, and everything else as JSON', () => {
    expect(fillTemplate('{{id}} {{id}}: {{example}}', { id: 'a', example: { b: [1] } })).toBe(
      'a a: { "b": [1] }',
    )
  })

  it('does not interpret patterns and placeholders in a value', () => {
    const values = { id: '$& $1 {{other}}', other: 'never' }
    expect(fillTemplate('{{id}}', values)).toBe('$& $1 {{other}}')
  })

  it.each(['{{nobody}}', '{{ id }}', '{{}}', '{{constructor}}'])(
    'refuses the unknown placeholder %s',
    (placeholder) => {
      expect(() => fillTemplate(`# ${placeholder}`, { id: 'a' })).toThrow(placeholder)
    },
  )
})

describe('formatJson', () => {
  it('breaks only lines that do not fit into eighty columns', () => {
    const of = (name: string) => ({ name, odd: '[ \n ]', none: {}, list: [1, { n: null }] })
    const line = formatJson(of('x'.repeat(9)))
    expect(line).toBe(
      String.raw`{ "name": "xxxxxxxxx", "odd": "[ \n ]", "none": {}, "list": [1, { "n": null }] }`,
    )
    expect(line).toHaveLength(80)
    expect(formatJson(of('x'.repeat(10)))).toBe(String.raw`{
  "name": "xxxxxxxxxx",
  "odd": "[ \n ]",
  "none": {},
  "list": [1, { "n": null }]
}`)
  })

  it('writes JSON that parses to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(formatJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})
