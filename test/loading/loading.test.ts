/** What `src/gateway/README.md` says of what is loaded when. */
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
const CORE = ['core/chain', 'core/relayer', 'core/schemes/evm/verify', 'core/schemes/evm/settle']
const HEAVY = ['viem', 'kysely', 'secp256k1', 'hash-wasm', 'standardwebhooks', 'express-rate-limit']

describe('an app that only protects routes', () => {
  it('listens without what only the API, the console, webhooks and payments need', async () => {
    const { first, status, later } = await load('protect')
    expect(filesIn(first, 'sell').length).toBeGreaterThan(10)
    for (const folder of [
      'api/serve',
      'api/admin',
      'gateway/parts',
      'core/relayer',
      'core/schemes/evm/verify',
    ])
      expect(filesIn(first, folder)).toEqual([])
    expect(filesIn(first, 'core/chain').toSorted()).toEqual([
      'core/chain/account-factories.ts',
      // Offers name its address.
      'core/chain/executor-code.ts',
      'core/chain/executor.ts',
    ])
    expect(filesIn(first, 'operate/health')).toEqual(['operate/health/health-router.ts'])
    expect(filesIn(first, 'operate/webhooks')).not.toContain('operate/webhooks/dispatcher.ts')
    expect(first.packages.filter((name) => HEAVY.includes(name))).toEqual([])

    expect(status).toBe(402)
    for (const folder of [...CORE, 'gateway/parts']) expect(filesIn(later, folder)).not.toEqual([])
    expect(filesIn(later, 'gateway/parts')).not.toContain('gateway/parts/router.ts')
    expect(filesIn(later, 'api/openapi')).toEqual([])
    expect(filesIn(later, 'api/admin')).toEqual([])
  })

  it('loads no relayer and no node where a facilitator elsewhere settles', async () => {
    const { later } = await load('facilitator')
    expect(filesIn(later, 'gateway/parts').toSorted()).toEqual([
      'gateway/parts/remote-core.ts',
      'gateway/parts/webhooks.ts',
    ])
    expect(filesIn(later, 'core/relayer')).toEqual([])
    expect(filesIn(later, 'core/chain')).not.toContain('core/chain/rpc.ts')
    expect(later.packages).not.toContain('viem')
  })
})

describe('an app that mounts the API', () => {
  it('loads it at once, and the description of the API when somebody asks', async () => {
    const { later } = await load('router')
    expect(filesIn(later, 'api')).toContain('api/gateway-router.ts')
    expect(filesIn(later, 'api/openapi')).toEqual([])
    expect(filesIn(later, 'api/documents')).toEqual([])
    // There is no admin token.
    expect(filesIn(later, 'api/admin')).toEqual([])
  })
})
