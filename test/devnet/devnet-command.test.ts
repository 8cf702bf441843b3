import { execFileSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { explainUnknownVariables, optionsFromEnvironment } from '../../src/config/environment.js'
import { createGateway } from '../../src/gateway.js'
import { runDevnetCommand } from '../../src/devnet/devnet-command.js'
import type { DevnetInfo } from '../../src/devnet/index.js'
import { publicClient } from './clients.js'

function run(options: { port?: number; blockTime?: number } = {}) {
  const abort = new AbortController()
  const lines: string[] = []
  let written: (info: DevnetInfo) => void
  const info = new Promise<DevnetInfo>((resolve) => {
    written = resolve
  })
  const write = (line: string): void => {
    lines.push(line)
    written(JSON.parse(line) as DevnetInfo)
  }
  const done = runDevnetCommand({ ...options, write, signal: abort.signal })
  return { abort, lines, info, done }
}

describe('runDevnetCommand', () => {
  it('writes one line of JSON, and runs until told to stop', async () => {
    const { abort, lines, info, done } = run({ blockTime: 1 })
    const { rpcUrl, ...rest } = await info
    expect(await publicClient(rpcUrl).getChainId()).toBe(84532)
    expect(Object.keys(rest)).toEqual([
      'chainId',
      'asset',
      'multicall3',
      'relayerKeys',
      'payers',
      'merchant',
    ])
    abort.abort()
    await done
    expect(lines).toHaveLength(1)
    await expect(publicClient(rpcUrl).getChainId()).rejects.toThrow('HTTP request failed')
  })

  it('writes a .env file from which the default gateway can be set up', async () => {
    const abort = new AbortController()
    let done: Promise<void> | undefined
    const text = await new Promise<string>((resolve) => {
      done = runDevnetCommand({ asEnvironment: true, write: resolve, signal: abort.signal })
    })
    const env = Object.fromEntries(
      [...text.matchAll(/^(\w+)=(\S+)$/gm)].map(([, name = '', value]) => [name, value]),
    )
    expect(explainUnknownVariables(env, [])).toEqual([])
    const gateway = createGateway(optionsFromEnvironment(env))
    const findings = await gateway.check()
    expect(findings.filter(({ status }) => status === 'error')).toEqual([])
    expect(findings).toContainEqual(
      expect.objectContaining({ subject: 'relayer', status: 'ok', network: 'eip155:84532' }),
    )
    await gateway.close()
    abort.abort()
    await done
  })

  it('starts nothing when told to stop before', async () => {
    const lines: string[] = []
    await runDevnetCommand({ write: (line) => lines.push(line), signal: AbortSignal.abort() })
    expect(lines).toEqual([])
  })

  it('stops when told to while it starts', async () => {
    const { abort, lines, done } = run()
    abort.abort()
    await done
    expect(lines).toEqual([])
  })

  it('refuses a wrong option', async () => {
    await expect(run({ port: -1 }).done).rejects.toMatchObject({ option: 'port' })
  })

  it('rejects when anvil ends by itself', async () => {
    const { info, done } = run()
    const failed = done.catch((error: unknown) => error)
    await info
    process.kill(anvilProcess(), 'SIGKILL')
    expect(await failed).toMatchObject({ message: 'anvil ended: exit SIGKILL' })
  })
})

/** The one anvil that is a child of this process. */
function anvilProcess(): number {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,comm='], { encoding: 'utf8' })
  const children = table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, command]) => Number(parent) === process.pid && command?.endsWith('anvil'))
  expect(children).toHaveLength(1)
  return Number(children[0]?.[0])
}
