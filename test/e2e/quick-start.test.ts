/** Runs the quick start of the README, word for word, with the packed package in an empty folder. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { join } from 'node:path'
import { page, type Block } from '../docs/documents.js'
import { temporaryFolder, useCleanup } from '../support/cleanup.js'
import { endSteps, followStep, pinVersions } from '../support/follow-steps.js'
import { freePort } from '../support/free-port.js'
import { pack } from '../support/packed.js'

const steps = ['## See a purchase', '## Ten lines to the first paid request'].flatMap((heading) =>
  stepsOf('README.md', heading),
)
const [install, ...others] = steps

/** The blocks of a section, its parts included. */
function stepsOf(name: string, heading: string): readonly Block[] {
  const { text, blocks } = page(name)
  const start = text.indexOf(`\n${heading}\n`)
  const end = text.indexOf('\n## ', start + heading.length)
  const lineOf = (position: number) => text.slice(0, position).split('\n').length
  const [first, last] = [lineOf(start), end < 0 ? Infinity : lineOf(end)]
  return blocks.filter(({ at }) => {
    const line = Number(at.split(':').at(-1))
    return line > first && line < last
  })
}

const folder = temporaryFolder(useCleanup(afterAll))
let tarball: string
let port: string
beforeAll(async () => {
  tarball = await pack(folder)
  port = String(await freePort())
})
afterAll(endSteps)

describe('the quick start of the README', () => {
  const printed: string[] = []

  it('leads from an empty folder to a paid request, and to one by the official client', async () => {
    const project = join(folder, 'paid-weather')
    const follower = {
      ...{ project, tarball, paidUrl: `http://localhost:${port}/weather` },
      // `try` would stay up.
      adapt: (text: string) => text.replaceAll('4021', port).replace(/ try$/, '$& --once'),
    }
    const [make = '', ...rest] = install!.code.split('\n')
    await followStep({ ...install!, code: make }, { ...follower, project: folder })
    await pinVersions(project)
    for (const step of [{ ...install!, code: rest.join('\n') }, ...others])
      printed.push(await followStep(step, follower))
    expect(printed.at(-1)).toMatch(
      /^200 \{\s+forecast: 'sunny',\s+paidBy: '0x[0-9A-Fa-f]{40}'\s+\}$/m,
    )
  })

  it('prints what the README shows', () => {
    const shown = steps.filter(({ lang }) => lang === 'text')
    expect(shown).toHaveLength(2)
    for (const block of shown) {
      const lines = block.code.split('\n').map((line) => line.split(/0x|…|:4021/)[0]!)
      expect(lines.length).toBeGreaterThan(6)
      // What the command before it has printed.
      for (const line of lines) expect(printed[steps.indexOf(block) - 1]).toContain(line)
    }
  })
})
