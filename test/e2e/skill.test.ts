/** Follows the skill for coding agents step by step, with the packed package in a folder that has nothing else. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { fundGas } from '../../src/tools/testing/token.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { blocksIn, ROOT, type Block } from '../docs/documents.js'
import { temporaryFolder, useCleanup } from '../support/cleanup.js'
import { useDevnet } from '../support/devnet.js'
import { endSteps, followStep, pinVersions } from '../support/follow-steps.js'
import { freePort } from '../support/free-port.js'
import { pack } from '../support/packed.js'

const devnet = useDevnet()
const folder = temporaryFolder(useCleanup(afterAll))
const project = join(folder, 'app')

let tarball: string
let port: string
/** The blocks of the skill as it was packed, by the headings of its steps. */
let steps: ReadonlyMap<string, readonly Block[]>
beforeAll(async () => {
  tarball = await pack(folder)
  port = String(await freePort())
  const skill = await readFile(join(ROOT, 'skills/express-x402-gateway/SKILL.md'), 'utf8')
  const sections = skill.split(/^## \d+\. /m).slice(1)
  steps = new Map(
    sections.map((text) => [text.split('\n')[0]!, blocksIn(text, 'SKILL.md')] as const),
  )
  await mkdir(project)
  await writeFile(join(project, 'package.json'), '{ "private": true }')
  await pinVersions(project)
})
afterAll(endSteps)

const payTo = privateKeyToAddress(generatePrivateKey())

/** Takes a step. @returns What its commands have printed. */
async function follow(heading: string, env: Readonly<Record<string, string>> = {}) {
  const blocks = steps.get(heading)
  if (blocks === undefined) throw new Error(`The skill has no step '${heading}'.`)
  const printed: string[] = []
  for (const block of blocks) printed.push(await followStep(block, follower(env)))
  return printed.join('')
}

const follower = (env: Readonly<Record<string, string>> = {}) => ({
  ...{ project, tarball, paidUrl: `http://localhost:${port}/forecast/berlin` },
  adapt: (text: string) => text.replaceAll('4021', port).replaceAll('0xYourAddress', payTo),
  env: { PORT: port, ...env },
})

describe('an agent that follows the skill', () => {
  it('adds a paid route that is found, and tests it', async () => {
    await follow('Install')
    await follow('Add a paid route')
    await follow('Make it discoverable')
    const printed = await follow('Test it')
    expect(printed).toMatch(/^# pass 5$|^ℹ pass 5$/m)
    expect(printed).toMatch(/^# fail 0$|^ℹ fail 0$/m)
  })

  it('runs it on the local chain, and buys', async () => {
    expect(await follow('Run it, and buy')).toContain('{"city":"berlin","forecast":"sunny"}')
    await endSteps()
  })

  it('goes live: with a relayer of its own that doctor finds ready, on the network of a node', async () => {
    const [init, ...others] = steps.get('Go live')!
    const node = follower({ X402_RPC_URL: devnet.rpcUrl })
    await followStep(init!, node)
    const variables = await readFile(join(project, '.env'), 'utf8')
    expect(variables).toContain(`X402_PAY_TO=${payTo}`)
    await fundGas(devnet, /^# (0x\w{40}) sends/m.exec(variables)?.[1] as Hex)
    for (const step of others) await followStep(step, node)
    const bought = await followStep(steps.get('Run it, and buy')!.at(-1)!, node)
    expect(bought).toContain('{"city":"berlin","forecast":"sunny"}')
  })
})
