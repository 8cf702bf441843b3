import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformFileSync } from '@swc/core'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startAnvil } from '../../src/devnet/anvil.js'
import { until } from '../support/until.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

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
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'devnet-'))
    compile(folder)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** Starts a chain in a process of its own, which then does as told. */
  async function startParent(then: string): Promise<{ parent: ChildProcess; rpcUrl: string }> {
    const script = `
      import { startDevnet } from ${JSON.stringify(join(folder, 'devnet', 'index.js'))}
      const devnet = await startDevnet()
      process.stdout.write(devnet.rpcUrl)
      process.stdin.once('data', async () => { ${then} })
    `
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const [rpcUrl] = (await once(parent.stdout, 'data')) as [Buffer]
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

function compile(folder: string): void {
  mkdirSync(join(folder, 'devnet'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const sources = readdirSync(join(ROOT, 'src', 'devnet')).filter((name) => name.endsWith('.ts'))
  for (const file of ['errors.ts', ...sources.map((name) => join('devnet', name))]) {
    const { code } = transformFileSync(join(ROOT, 'src', file), {
      swcrc: false,
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    })
    writeFileSync(join(folder, file.replace(/ts$/, 'js')), code)
  }
}

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
