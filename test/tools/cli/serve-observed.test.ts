import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import type { Environment } from '../../../src/gateway/config/read/variables.js'
import { runCli } from '../../../src/tools/cli/cli.js'
import { sendRaw } from '../../api/session/session.js'
import { until } from '../../support/until.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

const TOKEN = 'x402_token-of-the-shop'
const METRICS_TOKEN = 'token-of-prometheus'
const CONFIG = {
  // Nobody listens on this port.
  networks: {
    base: {
      rpcUrl: 'http://127.0.0.1:9/v2/secret-provider-key',
      relayerKeys: [`0x${'5e'.repeat(32)}`],
    },
  },
  projects: [
    {
      id: 'acme',
      tokens: [TOKEN],
      merchant: { payTo: '0x000000000000000000000000000000000000bEEF' },
    },
  ],
}
let end: (() => Promise<number>) | undefined
const cwd = temporaryFolder(useCleanup(afterAll))
afterEach(async () => {
  await end?.()
  end = undefined
})

/** Runs `serve` on free ports, until the test ends. */
function serve(options: object, ...flags: readonly string[]) {
  return serveIn({}, options, ...flags)
}

async function serveIn(env: Environment, options: object, ...flags: readonly string[]) {
  await writeFile(join(cwd, 'gateway.config.json'), JSON.stringify({ ...CONFIG, ...options }))
  const printed: string[] = []
  const complained: string[] = []
  const ending = new AbortController()
  const exit = runCli(['serve', '--memory', '--port', '0', ...flags], {
    ...{ env, cwd, signal: ending.signal },
    print: (line) => void printed.push(line),
    complain: (line) => void complained.push(line),
    write: async (text) => void printed.push(text),
  })
  end = () => {
    ending.abort()
    return exit
  }
  const isOver = { now: false }
  void exit.then(() => (isOver.now = true))
  const urlIn = (what: string): string | undefined =>
    printed
      .find((line) => line.includes(what))
      ?.split(' ')
      .at(-1)
  await until(() => isOver.now || urlIn('answers on') !== undefined)
  const lines = (): Record<string, unknown>[] =>
    complained
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  return { exit, complained, lines, urlIn, url: urlIn('answers on') ?? '' }
}

describe('serve', () => {
  it('starts while a node does not answer, and is alive but not ready', async () => {
    const { url } = await serve({})
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    const ready = await fetch(`${url}/readyz`)
    expect(ready.status).toBe(503)
    const text = await ready.text()
    expect(text).toMatch(/chain_unreachable|timeout/)
    expect(text).not.toMatch(/secret|127\.0\.0\.1/)
  })

  it('has a console if there is an admin token', async () => {
    const plain = await serve({})
    expect(plain.urlIn('console')).toBeUndefined()
    expect((await fetch(`${plain.url}/console/`)).status).toBe(404)
    await end!()
    const token = 'an-admin-token-of-the-tests'
    const { url, urlIn, complained } = await serve({ admin: { tokens: [token] } })
    await until(() => urlIn('console') !== undefined)
    expect(urlIn('console')).toBe(`${url}/console/`)
    expect((await fetch(`${url}/console/`)).headers.has('content-security-policy')).toBe(true)
    expect(await end!()).toBe(0)
    expect(complained.join()).not.toContain(token)
  })

  it('has metrics only if configured, on a port of their own', async () => {
    const plain = await serve({})
    expect((await fetch(`${plain.url}/metrics`)).status).toBe(404)
    expect(plain.urlIn('metrics')).toBeUndefined()
    await end!()
    const { url, urlIn } = await serve({ metrics: { port: 0, token: METRICS_TOKEN } })
    await until(() => urlIn('metrics') !== undefined)
    const metrics = urlIn('metrics')!
    expect(metrics).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
    expect((await fetch(`${url}/metrics`)).status).toBe(404)
    expect((await fetch(metrics)).status).toBe(401)
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
    expect(await (await fetch(metrics, { headers })).text()).toContain('x402_rpc_seconds')
    expect(await end!()).toBe(0)
    await expect(fetch(metrics)).rejects.toThrow('fetch failed')
  })

  it('has metrics for other machines where the file names the host and the environment the token', async () => {
    const token = { X402_METRICS_TOKEN: METRICS_TOKEN }
    const { urlIn } = await serveIn(token, { metrics: { port: 0, host: '0.0.0.0' } })
    await until(() => urlIn('metrics') !== undefined)
    expect(urlIn('metrics')).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/metrics$/)
    expect((await fetch(urlIn('metrics')!)).status).toBe(401)
  })

  it('has metrics without a token only for requests to this machine, under any name', async () => {
    const { urlIn } = await serve({ metrics: { port: 0 } })
    await until(() => urlIn('metrics') !== undefined)
    const { origin, port } = new URL(urlIn('metrics')!)
    const statusFor = async (Host: string): Promise<number> =>
      (await sendRaw(origin, 'GET', '/metrics', { headers: { Host } })).status
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST', `[::1]:${port}`])
      expect([host, await statusFor(host)]).toEqual([host, 200])
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.nip.io',
    ])
      expect([host, await statusFor(host)]).toEqual([host, 421])
  })

  it('names the option if the port for metrics is in use', async () => {
    const first = await serve({ metrics: { port: 0 } })
    await until(() => first.urlIn('metrics') !== undefined)
    const port = Number(new URL(first.urlIn('metrics')!).port)
    const endFirst = end!
    const second = await serve({ metrics: { port } })
    expect(await second.exit).not.toBe(0)
    expect(second.complained.join()).toContain('metrics.port')
    await endFirst()
  })

  it('logs a line for each request if configured, without queries and tokens', async () => {
    const { url, lines } = await serve({}, '--access-log')
    const headers = { 'X-Project-Identify-Token': TOKEN, 'X-Request-Id': 'proxy-7' }
    await fetch(`${url}/api/v2/payment/supported`, { headers })
    await fetch(`${url}/nowhere?token=secret-in-a-query`)
    const requests = () => lines().filter(({ message }) => message === 'request')
    await until(() => requests().length >= 2)
    expect(requests()).toMatchObject([
      {
        ...{ level: 'info', requestId: 'proxy-7', method: 'GET', status: 200, project: 'acme' },
        ...{ path: '/api/v2/payment/supported', ip: '127.0.0.1', ms: expect.any(Number) },
      },
      { path: '/nowhere', status: 404 },
    ])
    expect(JSON.stringify(requests())).not.toMatch(/secret|token-of-the-shop/)
  })

  it('logs no requests by default, and all with --access-log', async () => {
    const silent = await serve({})
    await fetch(`${silent.url}/livez`)
    expect(await end!()).toBe(0)
    expect(silent.lines().filter(({ message }) => message === 'request')).toStrictEqual([])
    const { url, lines } = await serve({}, '--access-log')
    await fetch(`${url}/livez`)
    await until(() => lines().some(({ path }) => path === '/livez'))
  })

  describe('behind a proxy', () => {
    const forwarded = { 'X-Forwarded-For': '198.51.100.7' }
    const addressIn = async (url: string, lines: () => Record<string, unknown>[]) => {
      await fetch(`${url}/livez`, { headers: forwarded })
      await until(() => lines().some(({ path }) => path === '/livez'))
      return lines().find(({ path }) => path === '/livez')?.['ip']
    }
    const warningsIn = (lines: readonly Record<string, unknown>[]) =>
      lines.filter(({ message }) => String(message).startsWith('Ignored X-Forwarded-For'))

    it.each([
      ['on this machine, without a setting', {}, []],
      ['whose subnet is named by a flag', { trustProxy: false }, ['--trust-proxy', '127.0.0.0/8']],
      ['that is the only one', { trustProxy: 1 }, []],
    ] as const)('%s, knows the addresses of clients', async (_where, options, flags) => {
      const { url, lines } = await serve(options, '--access-log', ...flags)
      expect(await addressIn(url, lines)).toBe('198.51.100.7')
      expect(warningsIn(lines())).toEqual([])
    })

    it('warns once of a proxy that is not trusted, and ignores its forwarded addresses', async () => {
      const { url, lines } = await serve({ trustProxy: '192.0.2.1, 10.0.0.0/8' }, '--access-log')
      expect(await addressIn(url, lines)).toBe('127.0.0.1')
      await fetch(`${url}/livez`, { headers: forwarded })
      expect(warningsIn(lines())).toMatchObject([{ level: 'warn', ip: '127.0.0.1' }])
    })

    it('still lets the operator sign in after a stranger has failed many times', async () => {
      const token = 'an-admin-token-of-the-tests'
      const { url } = await serve({ admin: { tokens: [token] } })
      const signIn = async (address: string, given: string): Promise<number> => {
        const headers = { Origin: url, 'Content-Type': 'application/json' }
        const { status } = await fetch(`${url}/console/session`, {
          method: 'POST',
          headers: { ...headers, 'X-Forwarded-For': address },
          body: JSON.stringify({ token: given }),
        })
        return status
      }
      const wrong: number[] = []
      for (let count = 0; count < 11; count++)
        wrong.push(await signIn('198.51.100.7', `no-${count}`))
      expect(wrong.at(-1)).toBe(429)
      expect(await signIn('198.51.100.8', 'not-a-token')).toBe(401)
      expect(await signIn('198.51.100.7', token)).toBe(200)
    })

    it('refuses to start if it would trust everybody', async () => {
      const { exit, complained } = await serve({}, '--trust-proxy', 'true')
      expect(await exit).not.toBe(0)
      expect(complained.join()).toMatch(/trust.*everybody/)
    })
  })
})
