import { execFileSync } from 'node:child_process'
import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { explainUnknownVariables } from '../../../src/gateway/config/read/name-variables.js'
import { optionsFromEnvironment } from '../../../src/gateway/config/read/override.js'
import { erc20Abi, maxUint256 } from 'viem'
import { createGateway } from '../../../src/gateway/gateway.js'
import { OwnFile } from '../../../src/tools/devnet/own-file.js'
import { runDevnetCommand } from '../../../src/tools/devnet/devnet-command.js'
import type { DevnetInfo } from '../../../src/tools/devnet/index.js'
import { publicClient } from './clients.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

let folder: string
const toEnd = useCleanup()
beforeEach(() => {
  folder = temporaryFolder(toEnd)
})

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
      'permitToken',
      'plainToken',
      'multicall3',
      'permit2',
      'exactPermit2Proxy',
      'uptoPermit2Proxy',
      'accountFactory',
      'executor',
      'relayerKeys',
      'payers',
      'merchant',
    ])
    abort.abort()
    await done
    expect(lines).toHaveLength(1)
    await expect(publicClient(rpcUrl).getChainId()).rejects.toThrow('HTTP request failed')
  })

  it('writes a file of variables from which the default gateway can be set up', async () => {
    const abort = new AbortController()
    const environmentFile = join(folder, 'devnet.env')
    const start = async (): Promise<void> => {
      await new Promise<void>((onReady, reject) => {
        const write = (line: string): void => reject(new Error(line))
        const options = { environmentFile, write, onReady: () => onReady(), signal: abort.signal }
        done = runDevnetCommand(options)
        done.catch(reject)
      })
    }
    let done: Promise<void> | undefined
    await start()
    const text = await readFile(environmentFile, 'utf8')
    expect((await stat(environmentFile)).mode & 0o777).toBe(0o600)
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

  it('has a buyer who pays by Permit2, too, and has no gas money', async () => {
    for (const options of [{}, { blockTime: 1 }]) {
      const { abort, info, done } = run(options)
      const { rpcUrl, asset, permit2, payers } = await info
      const { address } = payers[0]!
      const client = publicClient(rpcUrl)
      const allowance = { address: asset, abi: erc20Abi, functionName: 'allowance' } as const
      expect(await client.readContract({ ...allowance, args: [address, permit2] })).toBe(maxUint256)
      expect(await client.getBalance({ address })).toBe(0n)
      abort.abort()
      await done
    }
  })

  it('overwrites the file that it has written before, and no other', async () => {
    const environmentFile = join(folder, 'devnet.env')
    const own = new OwnFile(environmentFile)
    await own.write('X402_RPC_URL=http://127.0.0.1:1\nX402_PAY_TO=0x1')
    await chmod(environmentFile, 0o644)
    await own.write('X402_RPC_URL=http://127.0.0.1:2')
    expect(await readFile(environmentFile, 'utf8')).toMatch(
      /^# Written by .*\nX402_RPC_URL=.*:2\n$/,
    )
    expect((await stat(environmentFile)).mode & 0o777).toBe(0o600)

    const secrets = join(folder, '.env')
    for (const text of ['SESSION_SECRET=s\n', '', `\n${await readFile(environmentFile, 'utf8')}`]) {
      await writeFile(secrets, text)
      const refused = runDevnetCommand({
        environmentFile: secrets,
        write: () => undefined,
        signal: new AbortController().signal,
      })
      await expect(refused).rejects.toMatchObject({ option: 'env', code: 'config_invalid' })
      expect(await readFile(secrets, 'utf8')).toBe(text)
    }
  })

  it('does not write through a link that leads to a file of its user', async () => {
    const secrets = join(folder, 'secrets')
    await symlink(secrets, join(folder, 'devnet.env'))
    await expect(new OwnFile(join(folder, 'devnet.env')).write('A=1')).rejects.toMatchObject({
      option: 'env',
    })
    await expect(readFile(secrets)).rejects.toMatchObject({ code: 'ENOENT' })
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
