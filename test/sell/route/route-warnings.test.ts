import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import type { ErrorRequestHandler, Express } from 'express'
import { fromEnvironment } from '../../../src/gateway/config/read/from-environment.js'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import type { Logger } from '../../../src/shared/logger.js'
import type { Price } from '../../../src/shared/money/price.js'
import { checked } from '../../support/checked.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { openShop, paymentRequiredOf, type Shop } from '../../support/shop.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { until } from '../../support/until.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'

const devnet = useDevnet()
const ends = useCleanup()
const payer = () => devnet.payers[0]!

/** What a log has of each level. */
function record(): Logger & { readonly warnings: string[]; readonly errors: string[] } {
  const warnings: string[] = []
  const errors: string[] = []
  return {
    warnings,
    errors,
    debug: () => undefined,
    info: () => undefined,
    warn: (message) => void warnings.push(message),
    error: (message) => void errors.push(message),
  }
}

async function open(
  routes: (app: Express, gateway: Gateway) => void,
  options: GatewayOptions = {},
): Promise<Shop> {
  return closedBy(ends, await openShop(devnet, routes, options))
}

/** A gateway that offers one token on each of some networks; none of them is asked. */
function offering(networks: number, logger: Logger): Gateway {
  const ids = [8453, 1, 137, 42161, 10, 43114, 42220, 84532, 11155111, 80002]
  const gateway = createGateway({
    networks: Object.fromEntries(
      Array.from({ length: networks }, (_, index) => [
        `eip155:${ids[index % ids.length]! + (index >= ids.length ? 7_000_000 + index : 0)}`,
        {
          assets: [
            {
              ...{ address: devnet.asset, symbol: 'USDC', decimals: 6, currency: 'USD' },
              eip712: { name: 'USD Coin', version: '2' },
            },
          ],
        },
      ]),
    ),
    facilitator: {
      verify: () => Promise.reject(new Error('not asked')),
      settle: () => Promise.reject(new Error('not asked')),
      supported: () => Promise.resolve({ kinds: [], extensions: [], signers: {} }),
    },
    projects: [{ id: 'shop', merchant: { payTo: devnet.merchant.address } }],
    logger,
  })
  ends.push(() => gateway.close())
  return gateway
}

const about = (log: { readonly warnings: readonly string[] }, what: string): readonly string[] =>
  log.warnings.filter((line) => line.includes(what))

describe('a 402 whose header does not fit through proxies', () => {
  it('is warned of once when the route is declared, with its size', () => {
    const log = record()
    const gateway = offering(7, log)
    gateway.x402Protect('$0.01', { description: 'x'.repeat(500) })
    expect(about(log, 'PAYMENT-REQUIRED')).toEqual([
      expect.stringMatching(
        /^The route 'x+…' has a PAYMENT-REQUIRED header of 3,\d{3} bytes.*proxy_buffer_size 16k; proxy_buffers 8 16k;/,
      ),
    ])
  })

  it('is warned of a second time if clients refuse it too', () => {
    const log = record()
    offering(20, log).x402Protect('$0.01', { description: 'The weather today' })
    expect(about(log, 'PAYMENT-REQUIRED')).toHaveLength(2)
    expect(about(log, 'more than 8,192')).toHaveLength(1)
  })

  it('is not warned of if it fits', () => {
    const log = record()
    offering(4, log).x402Protect('$0.01', { description: 'The weather today' })
    expect(about(log, 'PAYMENT-REQUIRED')).toEqual([])
  })

  it('is warned of once, at the first 402, if the price depends on the request', async () => {
    const log = record()
    const gateway = offering(9, log)
    const shop = await open((app) => {
      app.get(
        '/a/:id',
        gateway.x402Protect(() => '$0.01'),
      )
    })
    expect(about(log, 'PAYMENT-REQUIRED')).toEqual([])
    for (const path of ['/a/1', '/a/2']) expect((await shop.ask(path)).status).toBe(402)
    expect(about(log, 'PAYMENT-REQUIRED')).toEqual([
      expect.stringMatching(/^GET \/a\/:id has a PAYMENT-REQUIRED header of/),
    ])
  })

  it('is not warned of because a stranger asks for a long URL', async () => {
    const log = record()
    const gateway = offering(1, log)
    const shop = await open((app) => {
      app.get(
        '/a',
        gateway.x402Protect(() => '$0.01'),
      )
    })
    const response = await shop.ask(`/a?${'x'.repeat(6000)}`)
    expect(response.headers.get('payment-required')!.length).toBeGreaterThan(8192)
    expect(about(log, 'PAYMENT-REQUIRED')).toEqual([])
  })

  it('is a finding of check(), with its size, whether a route is declared or not', async () => {
    const gateway = offering(10, record())
    const findings = async () =>
      (await checked(gateway)).filter(({ subject }) => subject === 'project')
    const typical = await findings()
    expect(typical).toMatchObject([
      { status: 'ok', headerBytes: expect.any(Number) },
      { status: 'warning', code: 'header_too_large', project: 'shop' },
    ])
    gateway.x402Protect('$0.01', { description: 'x'.repeat(900) })
    expect((await findings())[1]!.headerBytes).toBeGreaterThan(typical[1]!.headerBytes! + 1000)
    expect((await findings())[1]!.message).toContain(String((await findings())[1]!.headerBytes))
  })
})

describe('a price that official clients do not pay by default', () => {
  it('is named in the warning, with its route: by its description, or by its first request', async () => {
    const log = record()
    const shop = await open(
      (app, { x402Protect }) => {
        app.get('/described', x402Protect('$5', { description: 'A film' }))
        app.get('/fixed/:id', x402Protect('$4'))
        app.get(
          '/priced',
          x402Protect(() => '$2.5'),
        )
      },
      { logger: log },
    )
    for (const path of ['/priced', '/fixed/1', '/fixed/2']) await shop.ask(path)
    const limit = 'official clients refuse more than $1.00 unless their owner raises the limit.'
    expect(log.warnings).toEqual([
      `The route 'A film' costs $5.00: ${limit}`,
      `GET /priced costs $2.50: ${limit}`,
      `GET /fixed/:id costs $4.00: ${limit}`,
    ])
  })

  it('is not blamed if the token is the reason', () => {
    const log = record()
    const gateway = createGateway({
      networks: {
        base: { rpcUrl: 'http://127.0.0.1:1', relayerKeys: devnet.relayerKeys, assets: ['EURC'] },
      },
      projects: [{ id: 'shop', merchant: { payTo: devnet.merchant.address, currency: 'EUR' } }],
      logger: log,
    })
    ends.push(() => gateway.close())
    gateway.x402Protect('0.01 EUR', { description: 'News' })
    expect(log.warnings).toEqual([
      expect.stringMatching(/^The route 'News' takes only EURC on Base: /),
    ])
  })
})

describe('a stream that is held', () => {
  const declared = async (log: Logger) =>
    open(
      (app, { x402Protect }) => {
        app.get('/events', x402Protect('$0.01'), async (_req, res) => {
          res.type('text/event-stream')
          for (let turn = 0; turn < 3; turn++) {
            res.write(`data: ${turn}\n\n`)
            await sleep(60)
          }
          res.end()
        })
        app.get('/flushed', x402Protect('$0.01'), async (_req, res) => {
          res.type('text/plain').flushHeaders()
          res.write('first')
          await sleep(60)
          res.write('second')
          res.end()
        })
        app.get('/tokens', x402Protect('$0.01'), async (_req, res) => {
          res.type('text/plain').write('first')
          await sleep(60)
          res.write('second')
          res.end()
        })
        app.get('/upfront', x402Protect('$0.01', { paymentFlow: 'upfront' }), async (_req, res) => {
          res.type('text/event-stream').write('data: 1\n\n')
          await sleep(60)
          res.end('data: 2\n\n')
        })
        app.get('/one-event', x402Protect('$0.01'), async (_req, res) => {
          res.type('text/event-stream').flushHeaders()
          await sleep(60)
          res.write('data: 1\n\n')
          res.end()
        })
        app.get('/slow', x402Protect('$0.01'), async (_req, res) => {
          res.write('first')
          await sleep(60)
          res.end('second')
        })
      },
      { logger: log },
    )

  it.each(['/events', '/flushed', '/tokens'])(
    'is warned of once for each route: %s',
    async (path) => {
      const log = record()
      const shop = await declared(log)
      for (let turn = 0; turn < 2; turn++) expect((await shop.buy(path, payer())).status).toBe(200)
      expect(log.warnings).toEqual([
        expect.stringMatching(`^GET ${path} streams.*set paymentFlow: 'upfront'`),
      ])
    },
  )

  it.each(['/upfront', '/one-event', '/slow'])(
    'is not suspected in an ordinary answer: %s',
    async (path) => {
      const log = record()
      const shop = await declared(log)
      expect((await shop.buy(path, payer())).status).toBe(200)
      expect(log.warnings).toEqual([])
    },
  )
})

describe('x402Protect without its parentheses', () => {
  it('explains at once how to call it, and sells nothing', async () => {
    const errors: unknown[] = []
    const shop = await open((app, { x402Protect }) => {
      app.get('/a', x402Protect as never, (_req, res) => void res.send('sold'))
      const note: ErrorRequestHandler = (error, _req, res, _next) => {
        errors.push(error)
        res.status(500).end()
      }
      app.use(note)
    })
    expect((await shop.ask('/a')).status).toBe(500)
    expect(String(errors[0])).toContain("x402Protect is called with a price: x402Protect('$0.01')")
    expect(String(errors[0]).length).toBeLessThan(300)
  })

  it('is not mistaken for a price that is an object', () => {
    const { x402Protect } = createGateway(shopOptions(devnet))
    const price: Price = { amount: '0.01', currency: 'USD' }
    expect(() => x402Protect(price)).not.toThrow()
  })
})

describe('the remedy of a problem', () => {
  it('is logged, while the buyer reads that the seller cannot settle right now', async () => {
    const log = record()
    const proxy = closedBy(ends, await startRpcProxy(devnet.rpcUrl))
    proxy.fault = (method) =>
      method === 'eth_getBalance' ? { kind: 'answer', result: '0x0' } : undefined
    const shop = await open(
      (app, { x402Protect }) => {
        app.get('/a', x402Protect('$0.01'), (_req, res) => void res.send('sold'))
      },
      {
        networks: {
          'base-sepolia': { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys.slice(0, 1) },
        },
        logger: log,
      },
    )
    const before = await balanceOf(devnet, devnet.merchant.address)
    const response = await shop.buy('/a', payer())
    expect(await response.json()).toMatchObject({
      code: 'relayer_without_funds',
      detail: 'The seller cannot settle payments right now. Try again later.',
    })
    expect(log.errors.join('\n')).toMatch(
      /Relayer 0x[0-9a-fA-F]{40} on Base Sepolia is out of gas money\. Send ETH to it\./,
    )
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before)
  })

  it('is not shown to a buyer whose answer is too large', async () => {
    const errors: unknown[] = []
    const shop = await open((app, { x402Protect }) => {
      app.get('/a', x402Protect('$0.01', { maxHeldBytes: 3 }), (_req, res) => void res.send('sold'))
      const note: ErrorRequestHandler = (error, _req, _res, _next) => void errors.push(error)
      app.use(note)
    })
    const response = await shop.buy('/a', payer())
    const problem = (await response.json()) as { code: string; detail: string }
    expect(problem.code).toBe('answer_too_large')
    expect(problem.detail).not.toMatch(/maxHeldBytes|upfront/)
    await until(() => errors.length > 0)
    expect(String(errors[0])).toMatch(
      /The answer of GET \/a is larger than 3 .* raise maxHeldBytes/,
    )
  })

  it('is not shown to a buyer whose payment names another host', async () => {
    const log = record()
    const shop = await open(
      (app, { x402Protect }) => {
        app.get('/a', x402Protect('$0.01'), (_req, res) => void res.send('sold'))
      },
      { logger: log },
    )
    const resource = { url: 'https://shop.example/a', description: '' }
    for (let turn = 0; turn < 2; turn++) {
      const payment = await shop.sign('/a', payer(), { payload: { resource } })
      const document = paymentRequiredOf(await shop.pay('/a', payment))
      expect(document.error).toBe('resource_mismatch')
      expect(document.errorMessage).not.toMatch(/publicUrl|resourceUrl/)
    }
    expect(log.warnings).toEqual([expect.stringMatching(/^GET \/a .* set publicUrl/)])
  })
})

describe('a node that does not answer', () => {
  it('is reported with the variable that configures it', async () => {
    const log = record()
    const gateway = createGateway({
      ...fromEnvironment({
        X402_PAY_TO: devnet.merchant.address,
        X402_NETWORK: 'base-sepolia',
        X402_RPC_URL: 'http://127.0.0.1:1',
        X402_RELAYER_KEY: devnet.relayerKeys[0],
      }),
      logger: log,
    })
    ends.push(() => gateway.close())
    await until(() => log.warnings.length > 0)
    expect(log.warnings).toContainEqual(
      expect.stringContaining('does not answer: check X402_RPC_URL,'),
    )
  })

  it.each([
    ['its option', {}],
    ['its option, by the name that the developer gave it', { id: 'eip155:84532' }],
  ])(
    'is warned of soon after the start, by network and %s',
    async (_what, { id = 'base-sepolia' }: { id?: string }) => {
      const log = record()
      const gateway = createGateway(
        shopOptions(devnet, {
          networks: {
            [id]: { rpcUrl: 'http://127.0.0.1:1/secret-key', relayerKeys: devnet.relayerKeys },
          },
          logger: log,
        }),
      )
      ends.push(() => gateway.close())
      await until(() => log.warnings.length > 0)
      expect(log.warnings[0]).toContain(
        `The node of Base Sepolia does not answer: check networks.${id}.rpcUrl,`,
      )
      expect(log.warnings[0]).not.toMatch(/secret-key|127\.0\.0\.1/)
    },
  )
})
