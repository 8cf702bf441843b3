import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { inspect } from 'node:util'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { resolveOptions } from '../../../src/gateway/config/resolve/resolve-options.js'
import { requirePeers } from '../../../src/ledger/engine/require-peers.js'
import { isConfigError } from '../../../src/shared/errors.js'
import { startTcpProxy } from '../../faults/tcp-proxy.js'
import { SHOP_TOKEN } from '../../support/devnet.js'
import { until } from '../../support/until.js'
import { serveGateway, type ApiAnswer, type GatewayApi } from '../api.js'

const HOST = '127.0.0.1'
const PORT = 6379
const PROFILE = '/api/v2/merchant/payment-profile'
const SECRET = 's3cret'

const isThere = await findRedis()
const opened: GatewayApi[] = []
afterEach(() => Promise.all(opened.splice(0).map((api) => api.close())))

/** Looks for a Redis in the usual place on this machine. */
async function findRedis(): Promise<boolean> {
  const redis = new Redis(PORT, HOST, { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => undefined)
  const isFound = await redis.connect().then(
    () => true,
    () => false,
  )
  redis.disconnect()
  if (!isFound) process.stderr.write(`No Redis on ${HOST}:${PORT}: its tests are SKIPPED.\n`)
  return isFound
}

/** Options of a gateway for a project that no other test has. */
function optionsOf(port: number, limit = 2): GatewayOptions {
  const payTo = '0x000000000000000000000000000000000000bEEF'
  const rateLimit = {
    windowMs: 60_000,
    limit,
    redisUrl: `redis://default:${SECRET}@${HOST}:${port}`,
  }
  const base = { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [`0x${'5e'.repeat(32)}`] } as const
  const id = `test-${randomBytes(8).toString('hex')}`
  return {
    networks: { base },
    projects: [{ id, tokens: [SHOP_TOKEN], merchant: { payTo } }],
    rateLimit: port === PORT ? { ...rateLimit, redisUrl: `redis://${HOST}:${port}` } : rateLimit,
  }
}

async function open(options: GatewayOptions): Promise<GatewayApi> {
  const api = await serveGateway(options)
  opened.push(api)
  return api
}

const statusOf = async (api: GatewayApi): Promise<number> => (await api.get(PROFILE)).status

/**
 * Runs rounds, each with gateways of its own, until one can be judged. Redis is given 250 ms, then a
 * request passes uncounted: on a busy machine, that may happen in any round.
 */
async function judge<T>(
  round: () => Promise<T>,
  isTelling: (found: T) => boolean | Promise<boolean>,
): Promise<T> {
  const deadline = performance.now() + 40_000
  for (;;) {
    const found = await round()
    if (await isTelling(found)) return found
    if (performance.now() > deadline) throw new Error(`No round could be judged: ${inspect(found)}`)
    await Promise.all(opened.splice(0).map((api) => api.close()))
  }
}

/** Asks one gateway after the other. */
async function askEach(gateways: readonly GatewayApi[]): Promise<readonly ApiAnswer[]> {
  const answers: ApiAnswer[] = []
  for (const api of gateways) answers.push(await api.get(PROFILE))
  return answers
}

/** Whether every answer was counted: one that was not tells nothing of the limit. */
const areCounted = ({ answers }: { readonly answers: readonly ApiAnswer[] }): boolean =>
  answers.every(({ headers }) => headers.has('ratelimit'))

describe('a rate limit in Redis', () => {
  if (isThere) {
    it('is shared by all gateways that use it', async () => {
      const { gateways, answers } = await judge(async () => {
        const options = optionsOf(PORT)
        const gateways = [await open(options), await open(options), await open(options)]
        return { gateways, answers: await askEach(gateways) }
      }, areCounted)
      expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 429])
      const refused = answers[2]!
      expect(refused.body.code).toBe('rate_limited')
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      for (const { log } of gateways)
        expect(log.lines.filter((line) => line.includes('limiter'))).toStrictEqual([])
    })

    it('is shared by two routers of one gateway', async () => {
      const { api, answers } = await judge(async () => {
        const api = await open(optionsOf(PORT))
        api.gateway.gatewayRouter()
        return { api, answers: await askEach([api]) }
      }, areCounted)
      expect(answers.map(({ status }) => status)).toStrictEqual([200])
      expect(api.log.lines).toStrictEqual([])
    })

    it('lets requests through at once while Redis cannot be reached, and counts again once it can', async () => {
      const proxy = await startTcpProxy({ host: HOST, port: PORT })
      const redisUrl = `redis://${HOST}:${proxy.port}`
      const { api, answers } = await judge(async () => {
        const rateLimit = { windowMs: 60_000, limit: 3, redisUrl }
        const api = await open({ ...optionsOf(proxy.port), rateLimit })
        return { api, answers: await askEach([api, api, api, api]) }
      }, areCounted)
      expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 200, 429])
      proxy.isDown = true
      const tookMs: number[] = []
      for (let count = 0; count < 20; count++) {
        const startedAt = performance.now()
        expect(await statusOf(api)).toBe(200)
        tookMs.push(performance.now() - startedAt)
      }
      // None of them waits for Redis, which would take 250 ms; the machine itself may delay some.
      expect(tookMs.toSorted((one, other) => one - other)[4]).toBeLessThan(250)
      // The node, which nobody runs, is reported a second after the start.
      const ofLimits = api.log.lines.filter((line) => !line.includes('chain_unreachable'))
      expect(ofLimits).toHaveLength(1)
      expect(ofLimits[0]).toMatch(
        /^warn The rate limiter cannot count, so requests pass uncounted\./,
      )
      proxy.isDown = false
      await until(async () => (await statusOf(api)) === 429)
      await proxy.close()
    })
  }

  it('lets requests through if Redis was never there, without its URL in the log', async () => {
    const { api, statuses } = await judge(
      async () => {
        const api = await open(optionsOf(9))
        const statuses: number[] = []
        for (let count = 0; count < 5; count++) statuses.push(await statusOf(api))
        return { api, statuses }
      },
      // The machine may take longer to refuse the connection than a request waits for it.
      ({ api }) => !api.log.lines.join().includes('"timeout"'),
    )
    expect(statuses).toStrictEqual([200, 200, 200, 200, 200])
    const ofLimits = api.log.lines.filter((line) => !line.includes('chain_unreachable'))
    expect(ofLimits).toStrictEqual([expect.stringContaining('ECONNREFUSED')])
    expect(api.log.lines.join()).not.toContain(SECRET)
    expect(api.log.lines.join()).not.toContain(`${HOST}:9`)
  })

  it('delays no request for long if Redis does not answer', async () => {
    const silent = createServer(() => undefined).listen(0, HOST)
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const { api, status } = await judge(
      async () => {
        const api = await open(optionsOf(port))
        const startedAt = performance.now()
        const status = await statusOf(api)
        return { api, status, tookMs: performance.now() - startedAt }
      },
      ({ tookMs }) => tookMs < 1000,
    )
    expect(status).toBe(200)
    expect(api.log.lines.join()).toContain('timeout')
    await opened.pop()?.close()
    silent.close()
  })

  it.each([
    ['http://127.0.0.1', 'invalid_url'],
    ['127.0.0.1:6379', 'invalid_url'],
    ['', 'invalid_url'],
  ])('refuses the URL %j', (redisUrl, code) => {
    expect(issuesOf({ rateLimit: { redisUrl } })).toStrictEqual([['rateLimit.redisUrl', code]])
  })

  it('refuses a second store for the same limit', () => {
    const store = {
      increment: () => undefined,
      decrement: () => undefined,
      resetKey: () => undefined,
    }
    const rateLimit = { store, redisUrl: 'redis://127.0.0.1' } as unknown
    expect(issuesOf({ rateLimit } as GatewayOptions)).toStrictEqual([
      ['rateLimit.redisUrl', 'conflicting_options'],
    ])
  })

  it('names the packages that it needs under the option', () => {
    const load = (name: string): never => {
      throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' })
    }
    expect(() => requirePeers(['ioredis'], load, 'rateLimit.redisUrl')).toThrow(
      /^rateLimit\.redisUrl: needs 'ioredis', .*npm install ioredis/,
    )
  })
})

function issuesOf(options: GatewayOptions): ReadonlyArray<readonly [string, string]> {
  try {
    resolveOptions({ ...optionsOf(PORT), ...options })
    return []
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.issues.map(({ option, code }) => [option, code])
  }
}
