import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { startProgram } from '../../support/program.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { until } from '../../support/until.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

const run = promisify(execFile)
const devnet = useDevnet()

let dockerfile: string
const cwd = temporaryFolder(useCleanup(afterAll))
beforeAll(async () => {
  dockerfile = await readFile('example-app/Dockerfile', 'utf8')
})

/** The arguments of an instruction in JSON form. */
function argumentsOf(instruction: RegExp): string[] {
  const [, list] = instruction.exec(dockerfile) ?? []
  return JSON.parse(list ?? '') as string[]
}

describe('the container', () => {
  it('runs the program itself as a user without rights', () => {
    expect(dockerfile).toContain('\nUSER node\n')
    expect(dockerfile.indexOf('USER node')).toBeLessThan(dockerfile.indexOf('\nCMD '))
    expect(argumentsOf(/\nCMD (\[.*\])/)).toStrictEqual([
      ...['node_modules/.bin/express-x402-gateway', 'serve'],
    ])
  })

  it('installs this version, with what its options need', async () => {
    const { version, peerDependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
      version: string
      peerDependencies: Record<string, string>
    }
    expect(/^ARG VERSION=(.*)$/m.exec(dockerfile)?.[1]).toBe(version)
    const installed = /npm install (.*?) &&/.exec(dockerfile)?.[1]?.split(' ') ?? []
    // What `serve` does not load.
    const others = /^@(foundry-rs|opentelemetry|types|modelcontextprotocol)\//
    const needed = Object.entries(peerDependencies).filter(([name]) => !others.test(name))
    expect(new Set(installed.map((one) => one.split('@')[0]))).toEqual(
      new Set(['express-x402-gateway', ...needed.map(([name]) => name)]),
    )
    expect(installed).toContain('express-x402-gateway@${VERSION}')
    const taken = needed.filter(([name, range]) =>
      installed.some(
        (one) => one.startsWith(`${name}@`) && range.includes(`^${one.split('@')[1]}`),
      ),
    )
    expect(taken).toEqual(needed)
  })

  it('is healthy only while payments can be accepted', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const program = startProgram([resolve('dist/esm/tools/cli/bin.js'), 'serve', '--memory'], {
      cwd,
      env: {
        ...{ PORT: '0', HOST: '0.0.0.0', X402_NETWORK: 'base-sepolia', X402_RPC_URL: proxy.url },
        X402_PAY_TO: devnet.merchant.address,
        X402_RELAYER_KEY: devnet.relayerKeys[0],
        X402_PROJECT_TOKEN: SHOP_TOKEN,
      },
    })
    const port = await program.prints(/http:\/\/0\.0\.0\.0:(\d+)/)
    const [, ...args] = argumentsOf(/HEALTHCHECK[^[]*CMD (\[.*\])/)
    const isHealthy = (): Promise<boolean> =>
      run(process.execPath, args, { env: { PORT: port } }).then(
        () => true,
        () => false,
      )
    await until(isHealthy)
    proxy.fault = () => ({ kind: 'http', status: 503 })
    await until(async () => !(await isHealthy()))
    expect(await program.end('SIGTERM')).toBe(0)
    expect(await isHealthy()).toBe(false)
    await proxy.close()
  })

  it('gets more time to end than the program needs, and starts after its database', async () => {
    const { services } = parse(await readFile('example-app/compose.yaml', 'utf8')) as {
      services: Record<string, Record<string, unknown>>
    }
    expect(services['gateway']).toMatchObject({
      ...{ stop_grace_period: '20s', read_only: true, restart: 'always' },
      depends_on: { postgres: { condition: 'service_healthy' } },
      // Whatever is set there, also for metrics and Redis.
      env_file: '.env',
    })
    expect(JSON.stringify(services)).not.toMatch(/password["':]+[a-z]/)
  })
})
