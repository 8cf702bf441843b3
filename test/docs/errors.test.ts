import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { STATUS } from '../../src/shared/http/problem-status.js'
import { reasons } from '../../src/shared/protocol/reasons.js'
import { headingsOf, page, ROOT } from './documents.js'

const sourceOf = (path: string): string => readFileSync(join(ROOT, 'src', path), 'utf8')

/** Every quoted name in the unions of a file whose names end in a word. */
function unionsOf(path: string, ending: string): readonly string[] {
  const unions = sourceOf(path).matchAll(
    new RegExp(`type \\w*${ending} =([^=]*?)(?=\\n\\n|\\n\\/\\*\\*)`, 'g'),
  )
  return [...unions].flatMap(([, text = '']) =>
    [...text.replaceAll(/Exclude<.*>/g, '').matchAll(/'([a-z0-9_]+)'/g)].map(
      ([, code = '']) => code,
    ),
  )
}

/** The codes that `doctor` gives its own findings. */
function doctorCodes(): readonly string[] {
  const folder = 'tools/cli/doctor'
  return readdirSync(join(ROOT, 'src', folder)).flatMap((file) =>
    [
      ...sourceOf(`${folder}/${file}`).matchAll(
        /\b(?:fault|caution)\(\s*'[A-Za-z]+',\s*'([a-z0-9_]+)'/g,
      ),
    ].map(([, code = '']) => code),
  )
}

const errorCodes = unionsOf('shared/protocol/error-codes.ts', 'Code')
const findingCodes = [...unionsOf('operate/health/finding.ts', 'FindingCode'), ...doctorCodes()]
const codes = new Set([...errorCodes, ...Object.keys(STATUS), ...reasons, ...findingCodes])

const { prose } = page('errors.md')
const sections = new Map(
  prose
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [heading = '', ...lines] = section.split('\n')
      return [heading, lines.join('\n')] as const
    }),
)

describe('the page of errors', () => {
  it('is compared with all codes of the package', () => {
    expect(errorCodes).toEqual(expect.arrayContaining(['invalid_price', 'ledger_full']))
    expect(findingCodes).toEqual(expect.arrayContaining(['block_stale', 'file_readable', 'ok']))
    expect(codes.size).toBeGreaterThan(120)
  })

  it('has a heading for every code', () => {
    expect([...codes].filter((code) => !sections.has(code))).toEqual([])
  })

  it('has no heading for a code that does not exist', () => {
    expect([...sections.keys()].filter((heading) => !codes.has(heading))).toEqual([])
  })

  it('has no code twice', () => {
    const headings = headingsOf(prose)
    expect(new Set(headings).size).toBe(headings.length)
  })

  it('says what to do about every code', () => {
    const without = [...sections].filter(([, text]) => !/\*\*Fix:\*\*\s+\S/.test(text))
    expect(without.map(([code]) => code)).toEqual([])
  })

  it.each(Object.entries(STATUS))('has the HTTP status of %s', (code, { api, route }) => {
    const expected = api === route ? `_HTTP ${api}\\._` : `_API ${api} · paid route ${route}\\._`
    expect(sections.get(code)?.trimStart()).toMatch(new RegExp(`^${expected}`))
  })
})
