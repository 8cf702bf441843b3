import { describe, expect, it } from '@jest/globals'
import {
  isName,
  quoteName,
  visible,
  visibleLines,
} from '../../../src/shared/protocol/visible-text.js'

const ESCAPE = '\u001b[31m'
const OVERRIDE = '\u202e'

describe('text of strangers', () => {
  it('is shown shortened and without terminal control sequences', () => {
    expect(visible(`a${ESCAPE}\u0007\u009b${OVERRIDE}\u2028b`)).toBe('a?[31m????b')
    expect(visible('x'.repeat(1000))).toHaveLength(200)
  })

  it('keeps its lines and tabs if it has many lines', () => {
    expect(visibleLines(`a\n\tb${ESCAPE}\r`)).toBe('a\n\tb?[31m?')
  })
})

describe('names that people read', () => {
  it.each(['', 'Café Zürich', '東京', 'می‌خواهم', '👩‍💻'])('can be %j', (name) =>
    expect(isName(name)).toBe(true),
  )

  it.each([
    ['a control character', `a${ESCAPE}`],
    ['a line break', 'a\r\nb'],
    ['a change of direction', `a${OVERRIDE}b`],
    ['half of a surrogate pair', 'a\ud83d'],
    ['more than 200 characters', 'x'.repeat(201)],
  ])('cannot have %s', (_what, name) => expect(isName(name)).toBe(false))
})

describe('a mistyped name in a message', () => {
  it.each(['USDC', 'USDC,EURC', 'dollars', 'base-sepola', 'eip155:1', `0x${'a1'.repeat(20)}`])(
    'is quoted if it looks like a name: %s',
    (name) => expect(quoteName(name)).toBe(`'${name}'`),
  )

  it.each([`0x${'5e'.repeat(32)}`, 'tok_live_51H8xQ2eZvKYlo2C', 'https://node.example/v2/key'])(
    'is not repeated if it may be a secret: %s',
    (secret) => expect(quoteName(secret)).toBe('this value'),
  )
})
