import { describe, expect, it } from '@jest/globals'
import {
  parseConfig,
  fillVariables,
  variablesIn,
} from '../../../src/gateway/config/read/config-file.js'

/** What is wrong with a text. */
function wrong(text: string): string {
  try {
    parseConfig('gateway.config.json', text)
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

describe('a configuration file', () => {
  it('may have comments and a byte-order mark', () => {
    const text = '\uFEFF{ // a URL is no comment\n"a": "https://x/*y*/", /* b */ "b": [1, true] }'
    expect(parseConfig('x', text)).toStrictEqual({ a: 'https://x/*y*/', b: [1, true] })
  })

  it.each([
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3', 'a comma is expected'],
    ['{ "a": 1, }', 'line 1, column 11', 'a comma too many'],
    ["{ 'a': 1 }", 'line 1, column 3', ''],
    ['{ "a": nil }', 'line 1, column 8', ''],
    ['{ "a": "b', 'line 1, column 8', 'not closed'],
    ['{ "a": [1 }', 'line 1, column 11', ''],
    ['', 'line 1, column 1', 'a value is expected'],
    ['{ /* ', 'line 1, column 3', 'a comment is not closed'],
  ])('is refused with the position of a syntax error: %j', (text, place, mistake) => {
    expect(wrong(text)).toContain(`is not JSON (${place})`)
    expect(wrong(text)).toContain(mistake)
  })

  it('is never quoted in a syntax error', () => {
    expect(wrong('{ "relayerKeys": ["0x5e5e" "hunter2" }')).not.toMatch(/5e5e|hunter2/)
  })
})

describe('a reference to a variable', () => {
  const env = { NAME: 'value', BLANK: ' ' }

  it('is replaced in every string', () => {
    const options = { a: '${NAME}', b: ['x${NAME}y${NAME}', { env: 'NAME' }], c: 1, d: null }
    expect(fillVariables(options, env)).toStrictEqual({
      ...{ a: 'value', b: ['xvalueyvalue', 'value'], c: 1, d: null },
    })
    expect(variablesIn(options)).toStrictEqual(['NAME', 'NAME', 'NAME', 'NAME'])
  })

  it('is left alone if it is escaped or malformed', () => {
    const options = { a: '$${NAME}', b: '$NAME ${} ${1}', c: { env: 'NAME', other: 1 } }
    expect(fillVariables(options, env)).toStrictEqual({ ...options, a: '${NAME}' })
    expect(variablesIn(options)).toStrictEqual([])
  })

  it('is reported with its path if the variable is not set', () => {
    const options = { a: { b: ['${MISSING}', '${BLANK}'] }, c: { env: 'GONE' } }
    expect(() => fillVariables(options, env)).toThrow(
      expect.objectContaining({
        issues: [
          ['a.b.0', 'MISSING'],
          ['a.b.1', 'BLANK'],
          ['c', 'GONE'],
        ].map(([option, name]) => ({
          option,
          code: 'missing_variable',
          message: `is the environment variable ${name}, which is not set`,
        })),
      }),
    )
  })
})
