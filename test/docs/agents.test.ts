/** What the package tells coding agents: generated, and as true as what it is made of. */
import { describe, expect, it } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { ROOT } from './documents.js'

/** The folder of a skill has its name (agentskills.io). */
const SKILL = 'skills/express-x402-gateway/SKILL.md'

const builder: string = fileURLToPath(new URL('../../.config/build-agents.mjs', import.meta.url))
const { agentDocuments } = (await import(builder)) as {
  agentDocuments(): Readonly<Record<'AGENTS.md' | 'llms.txt' | typeof SKILL, string>>
}
const { 'AGENTS.md': agents, 'llms.txt': llms, [SKILL]: skill } = agentDocuments()

describe('AGENTS.md', () => {
  it('shows a paid route that is found, and everything that the package exports', () => {
    expect(agents).toContain('.discovery()')
    expect(agents).toContain('input: {')
    expect(agents).toContain("from 'express-x402-gateway/testing'")
    for (const name of ['X402Protect', 'ProtectOptions', 'GatewayOptions', 'RouteInput'])
      expect(agents).toMatch(new RegExp(`export (?:interface|type) ${name}\\b`))
  })

  it('fits into the context of an agent', () => {
    expect(agents.length).toBeLessThan(60_000)
  })
})

/** That it works is shown by test/e2e/skill.test.ts, which follows it. */
describe('the skill', () => {
  const [, front = '', body = ''] = skill.split(/^---\n/m)

  it('begins as Agent Skills do', () => {
    const { name, description, ...rest } = parse(front) as Record<string, string>
    expect(name).toBe('express-x402-gateway')
    expect(description).toMatch(/Use it to /)
    expect(description?.length).toBeLessThanOrEqual(1024)
    expect(rest).toEqual({})
  })

  it('leads from an app to real money, in at most 250 lines', () => {
    const steps = ['Add a paid route', 'Make it discoverable', 'Test it', 'Go live']
    const headings = steps.map((step) => body.search(new RegExp(`^## \\d\\. ${step}$`, 'm')))
    expect(headings.every((at) => at > 0)).toBe(true)
    expect(headings).toEqual(headings.toSorted((one, other) => one - other))
    expect(skill.split('\n').length).toBeLessThanOrEqual(250)
  })

  it('names only files that are in the package', () => {
    const named = [...skill.matchAll(/node_modules\/express-x402-gateway\/([\w./-]+)/g)]
    expect(named.length).toBeGreaterThan(5)
    const missing = named.map(([, path = '']) => path).filter((path) => !isThere(path))
    expect(missing).toEqual([])
  })
})

const isThere = (path: string): boolean =>
  ['AGENTS.md', 'llms.txt', SKILL].includes(path) || existsSync(join(ROOT, path))

describe.each([
  ['AGENTS.md', agents],
  ['llms.txt', llms],
  [SKILL, skill],
])('%s', (name, text) => {
  it('is in the package', () => {
    const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      files: readonly string[]
    }
    expect(files).toContain(name.split('/')[0])
  })

  it('links only to what is there', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path)
    expect(links.filter((path) => !isThere(path))).toEqual([])
  })
})
