/** What the package tells coding agents: generated, and as true as what it is made of. */
import { describe, expect, it } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from './documents.js'

const builder: string = fileURLToPath(new URL('../../.config/build-agents.mjs', import.meta.url))
const { agentDocuments } = (await import(builder)) as {
  agentDocuments(): Readonly<Record<'AGENTS.md' | 'llms.txt', string>>
}
const { 'AGENTS.md': agents, 'llms.txt': llms } = agentDocuments()

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

describe.each([
  ['AGENTS.md', agents],
  ['llms.txt', llms],
])('%s', (name, text) => {
  it('is in the package', () => {
    const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      files: readonly string[]
    }
    expect(files).toContain(name)
  })

  it('links only to what is there', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path)
    expect(links.length).toBeGreaterThan(5)
    const made = ['AGENTS.md', 'llms.txt']
    expect(links.filter((one) => !made.includes(one) && !existsSync(join(ROOT, one)))).toEqual([])
  })
})
