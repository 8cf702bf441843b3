/**
 * Runs the app of `production.md` with the variables that `init --app` writes, and the buyer of `agent.md`
 * that needs no library of x402: both word for word.
 */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { privateKeyToAddress } from 'viem/accounts'
import { runCli } from '../../src/tools/cli/cli.js'
import { fundGas } from '../../src/tools/testing/token.js'
import { page, ROOT } from '../docs/documents.js'
import { useDevnet } from '../support/devnet.js'
import { freePort } from '../support/free-port.js'
import { startProgram, type Program } from '../support/program.js'

const PAY_TO = '0x000000000000000000000000000000000000bEEF'
const ADMIN = 'x402_test-token-of-the-operator'
const METRICS = 'x402_test-token-of-prometheus'

const devnet = useDevnet()
const { blocks } = page('production.md')
const app = blocks.find(({ meta }) => meta === 'file=app.mjs')?.code ?? ''
const buyer = page('agent.md').blocks.find(({ meta }) => meta === 'file=raw.mjs')?.code ?? ''
const image = blocks.find(({ lang }) => lang === 'dockerfile')?.code ?? ''

let cwd: string
let url: string
let running: Program

/** Runs a command of ours in the app's folder. */
async function cli(...args: readonly string[]) {
  const lines: string[] = []
  const keep = (line: string): void => void lines.push(line)
  const code = await runCli(args, {
    ...{ env: {}, cwd, signal: new AbortController().signal, print: keep, complain: keep },
    write: async (text) => keep(text),
  })
  return { code, text: lines.join('\n') }
}

async function start(): Promise<Program> {
  const port = String(await freePort())
  url = `http://127.0.0.1:${port}`
  const program = startProgram(['--env-file=.env', 'app.mjs'], {
    cwd,
    env: { PORT: port, X402_ADMIN_TOKEN: ADMIN, X402_METRICS_TOKEN: METRICS },
  })
  await program.prints(/(Listening on port) /)
  return program
}

const statusOf = async (path: string, token?: string): Promise<number> => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return (await fetch(`${url}${path}`, { headers })).status
}

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'x402-production-'))
  await mkdir(join(cwd, 'node_modules'))
  await symlink(ROOT, join(cwd, 'node_modules/express-x402-gateway'))
  for (const name of ['express', 'pino', 'prom-client', 'viem'])
    await symlink(join(ROOT, 'node_modules', name), join(cwd, 'node_modules', name))
  await writeFile(join(cwd, 'app.mjs'), app)
  await cli('init', '--app', '--pay-to', PAY_TO, '--rpc-url', devnet.rpcUrl)
})
afterAll(async () => {
  await running?.end('SIGKILL')
  await rm(cwd, { recursive: true, force: true })
})

it('is not ready without gas money, and sells once its relayer has some', async () => {
  running = await start()
  expect(await statusOf('/livez')).toBe(200)
  expect(await statusOf('/readyz')).toBe(503)
  await running.end('SIGTERM')
  const { X402_RELAYER_KEY: key } = parseEnv(await readFile(join(cwd, '.env'), 'utf8'))
  await fundGas(devnet, privateKeyToAddress(key as `0x${string}`))

  running = await start()
  expect(await statusOf('/readyz')).toBe(200)
  expect(await statusOf('/report')).toBe(402)
  const bought = await cli('pay', `${url}/report`, '--devnet')
  expect(bought.code).toBe(0)
  expect(bought.text).toContain('Umbrellas sell better')
  expect(await running.prints(/"msg":"(Paid)"/)).toBe('Paid')
})

it('sells to a program without a library, which pays with the offers that it knows alone', async () => {
  await writeFile(join(cwd, 'raw.mjs'), buyer)
  const env = { BUYER_KEY: devnet.payers[1]?.privateKey }
  const paying = startProgram(['raw.mjs', `${url}/report`], { cwd, env })
  expect(await paying.exitCode()).toBe(0)
  expect(paying.output()).toMatch(/^200 .*Umbrellas sell better.*success: true/s)

  await writeFile(join(cwd, 'raw.mjs'), buyer.replace('50_000n', '49_999n'))
  const refusing = startProgram(['raw.mjs', `${url}/report`], { cwd, env })
  expect(await refusing.exitCode()).toBe(1)
  expect(refusing.output()).toContain('No offer is in USDC, and cheap enough.')
})

it('shows its metrics to Prometheus and its console to people, and to nobody else', async () => {
  expect([await statusOf('/metrics'), await statusOf('/metrics', METRICS)]).toEqual([401, 200])
  expect(await statusOf('/console/')).toBe(200)
  expect(await statusOf('/api/v2/admin/projects')).toBe(401)
  expect(await statusOf('/api/v2/admin/projects', ADMIN)).toBe(200)
})

it('is checked by doctor with the same variables, and keeps its payments over a restart', async () => {
  expect(await running.end('SIGINT')).toBe(0)
  const { code, text } = await cli('doctor')
  expect(text).toMatch(/^\d+ checks passed: .*\.$/m)
  expect(code).toBe(0)
  const { text: exported } = await cli('ledger', 'export', '--format', 'jsonl')
  const payments = exported.trim().split('\n')
  expect(payments).toHaveLength(2)
  expect(JSON.parse(payments[0] ?? '')).toMatchObject({ status: 'settled', route: '/report' })

  running = await start()
  expect(await running.end('SIGTERM')).toBe(0)
})

it('goes into an image without its secrets, where Node itself gets the signals', () => {
  expect(image).toMatch(/^CMD \["node", "app\.mjs"\]$/m)
  expect(image).toMatch(/\/readyz/)
  expect(image).not.toMatch(/COPY (?:\.|.*\.env)/)
  expect(app).toContain("PORT = '3000'")
  expect(image).toMatch(/^EXPOSE 3000$/m)
})
