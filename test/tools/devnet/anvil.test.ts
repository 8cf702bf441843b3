import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { startAnvil } from '../../../src/tools/devnet/anvil.js'
import { until } from '../../support/until.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

describe('startAnvil', () => {
  const options = { host: '127.0.0.1', port: 0, chainId: 1, accounts: 1 }

  it('says so when the binary is none', async () => {
    const binary = join(tmpdir(), 'no-such-anvil')
    await expect(startAnvil({ ...options, binary })).rejects.toThrow(/did not start.*ENOENT/s)
  })

  it('says so when the binary ends at once', async () => {
    await expect(startAnvil({ ...options, binary: process.execPath })).rejects.toThrow(
      /did not start.*bad option/s,
    )
  })
})

describe('a chain whose parent ends', () => {
  /** Starts a chain in a process of its own, which then does as told. */
  async function startParent(then: string): Promise<{ parent: ChildProcess; rpcUrl: string }> {
    const script = `
      import { startDevnet } from ${JSON.stringify(join(ROOT, 'src/tools/devnet/index.ts'))}
      const devnet = await startDevnet()
      process.stdout.write(devnet.rpcUrl)
      process.stdin.once('data', async () => { ${then} })
    `
    const args = ['--import', './test/support/typescript.mjs', '--input-type=module', '--eval']
    const parent = spawn(process.execPath, [...args, script], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const [rpcUrl] = (await Promise.race([
      once(parent.stdout, 'data'),
      once(parent, 'exit').then(([code]) => {
        throw new Error(`The parent has ended with ${String(code)} before its chain was there.`)
      }),
    ])) as [Buffer]
    return { parent, rpcUrl: rpcUrl.toString() }
  }

  it.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)('ends with it on %s', async (signal) => {
    const { parent, rpcUrl } = await startParent('')
    expect(await answers(rpcUrl)).toBe(true)
    parent.kill(signal)
    await once(parent, 'exit')
    await gone(rpcUrl)
  })

  it.each([
    ['process.exit()', 'process.exit(0)'],
    ['an uncaught error', "throw new Error('a bug')"],
  ])('ends with it on %s', async (_, then) => {
    const { parent, rpcUrl } = await startParent(then)
    expect(await answers(rpcUrl)).toBe(true)
    parent.stdin?.write('go')
    await once(parent, 'exit')
    await gone(rpcUrl)
  })

  it('keeps it running until closed, and not longer', async () => {
    const { parent, rpcUrl } = await startParent('process.stdin.destroy(); await devnet.close()')
    expect(parent.exitCode).toBeNull()
    parent.stdin?.write('go')
    const [code] = (await once(parent, 'exit')) as [number]
    expect(code).toBe(0)
    expect(await answers(rpcUrl)).toBe(false)
  })
})

async function answers(rpcUrl: string): Promise<boolean> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
  const headers = { 'content-type': 'application/json' }
  return fetch(rpcUrl, { method: 'POST', headers, body }).then(
    (response) => response.ok,
    () => false,
  )
}

async function gone(rpcUrl: string): Promise<void> {
  await until(async () => !(await answers(rpcUrl)))
}
