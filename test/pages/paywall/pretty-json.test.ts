import { describe, expect, it } from '@jest/globals'
import { prettyJson } from '../../../src/pages/paywall/pretty-json.js'

describe('JSON that was bought', () => {
  it('is indented as JSON.stringify does it', () => {
    const document = { a: [1, { b: '},"\\' }, []], 'c:"\\"': {}, d: null, e: 'line\n', f: [true] }
    expect(prettyJson(JSON.stringify(document))).toBe(JSON.stringify(document, null, 2))
  })

  it('keeps numbers as they were written', () => {
    expect(prettyJson('{"units":123456789012345678901, "price":1.10}')).toBe(
      '{\n  "units": 123456789012345678901,\n  "price": 1.10\n}',
    )
  })

  it.each([
    ['a long string', 'A'.repeat(2 ** 24)],
    ['a string of escapes', '\\"'.repeat(2 ** 21)],
  ])('is shown with %s of some megabytes', (_name, text) => {
    expect(prettyJson(`{"a":"${text}"}`)).toBe(`{\n  "a": "${text}"\n}`)
  })

  it('stays as it is if it is not JSON', () => {
    expect(prettyJson('{"a":')).toBe('{"a":')
  })
})
