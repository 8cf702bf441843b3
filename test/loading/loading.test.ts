/** What `src/README.md` says of what is loaded when. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from '@jest/globals'

/** What is loaded: files of src, and packages. */
interface Loaded {
  readonly files: readonly string[]
  readonly packages: readonly string[]
}

/** What is loaded when an app listens, and once it was asked for a price. */
async function load(what: string): Promise<{ first: Loaded; status: number; later: Loaded }> {
  const script = fileURLToPath(new URL('app.mjs', import.meta.url))
  const loader = new URL('../support/typescript.mjs', import.meta.url).href
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', loader, script, what])
  return JSON.parse(stdout)
}

const filesIn = ({ files }: Loaded, folder: string): readonly string[] =>
  files.filter((file) => file.startsWith(`${folder}/`))

/** What takes and settles a payment, and what works in the background. */
const CORE = ['chain', 'relayer', 'schemes/evm/verify', 'schemes/evm/settle']
const HEAVY = ['viem', 'kysely', 'secp256k1', 'hash-wasm', 'standardwebhooks', 'express-rate-limit']

describe('an app that only protects routes', () => {
  it('listens without what only the API, the console, webhooks and payments need', async () => {
    const { first, status, later } = await load('protect')
    expect(filesIn(first, 'protect').length).toBeGreaterThan(10)
    for (const folder of ['router', 'console', 'parts', 'relayer', 'schemes/evm/verify'])
      expect(filesIn(first, folder)).toEqual([])
    expect(filesIn(first, 'chain').toSorted()).toEqual([
      'chain/account-factories.ts',
      'chain/chainlink-rates.ts',
      // Offers name its address.
      'chain/executor-code.ts',
      'chain/executor.ts',
    ])
    expect(filesIn(first, 'health')).toEqual(['health/health-router.ts'])
    expect(filesIn(first, 'webhooks')).not.toContain('webhooks/dispatcher.ts')
    expect(first.packages.filter((name) => HEAVY.includes(name))).toEqual([])

    expect(status).toBe(402)
    for (const folder of [...CORE, 'parts']) expect(filesIn(later, folder)).not.toEqual([])
    expect(filesIn(later, 'parts')).not.toContain('parts/router.ts')
    expect(filesIn(later, 'router/openapi')).toEqual([])
    expect(filesIn(later, 'console')).toEqual([])
  })

  it('loads no relayer and no node where a facilitator elsewhere settles', async () => {
    const { later } = await load('facilitator')
    expect(filesIn(later, 'parts').toSorted()).toEqual([
      'parts/remote-core.ts',
      'parts/webhooks.ts',
    ])
    expect(filesIn(later, 'relayer')).toEqual([])
    expect(filesIn(later, 'chain')).not.toContain('chain/rpc.ts')
    expect(later.packages).not.toContain('viem')
  })
})

describe('an app that mounts the API', () => {
  it('loads it at once, and the description of the API when somebody asks', async () => {
    const { later } = await load('router')
    expect(filesIn(later, 'router')).toContain('router/gateway-router.ts')
    expect(filesIn(later, 'router/openapi')).toEqual([])
    expect(filesIn(later, 'router/documents')).toEqual([])
    // There is no admin token.
    expect(filesIn(later, 'console')).toEqual([])
  })
})
