import type { ServerResponse } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { runCli } from '../../../src/tools/cli/cli.js'
import type { Environment } from '../../../src/gateway/config/read/variables.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { createWebhookSecret } from '../../../src/operate/webhooks/secret.js'
import { newEntry, steps } from '../../support/ledger-entries.js'
import { serveGateway, type GatewayApi } from '../../api/api.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'
import { SHOP_TOKEN } from '../../support/devnet.js'
import { listen } from '../../support/http.js'
import { until } from '../../support/until.js'
import { startReceiver, withStatus } from '../../operate/webhooks/receiver.js'

const PATH = '/api/v2/merchant/webhooks'
/** The token of Base Sepolia. */
const USDC = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
const toEnd = useCleanup()

/** A command that runs, with what it wrote so far. */
function start(argv: readonly string[], env: Environment = {}) {
  const printed: string[] = []
  const complained: string[] = []
  const ending = new AbortController()
  const exit = runCli(argv, {
    env,
    cwd: '/',
    signal: ending.signal,
    print: (line) => void printed.push(line),
    complain: (line) => void complained.push(line),
    write: async () => undefined,
  })
  return { printed, complained, exit, end: () => (ending.abort(), exit) }
}

async function serve(allowPrivate = true) {
  const ledger = createMemoryLedger()
  const projects = [{ id: 'shop', tokens: [SHOP_TOKEN] }]
  const api = closedBy(toEnd, await serveGateway({ projects, ledger, webhooks: { allowPrivate } }))
  return { api, ledger }
}

const registered = async (api: GatewayApi) => (await api.get(PATH)).body.webhooks as object[]

describe('listen', () => {
  it('registers itself, prints and forwards events, and leaves nothing behind', async () => {
    const { api, ledger } = await serve()
    const app = await startReceiver(toEnd)
    const listening = start(['listen', '--forward-to', app.url, '--gateway', `${api.url}/`], {
      X402_PROJECT_TOKEN: SHOP_TOKEN,
    })
    await until(() => listening.printed.length >= 1)
    const secret = /whsec_\S+/.exec(listening.printed[0]!)![0]
    await steps.settled(ledger, newEntry())
    await until(() => listening.printed.length >= 2)
    app.verify(app.received[0]!, secret)
    expect(listening.printed[1]).toMatch(
      /payment\.settled [0-9a-f]{32} settled 10000 atomic units v1 → HTTP 204/,
    )
    const known = { asset: USDC, value: 500_000n, details: { decimals: 6 } } as const
    await steps.settled(ledger, newEntry(known))
    await until(() => listening.printed.length >= 3)
    expect(listening.printed[2]).toContain(' settled 0.5 USDC v1 ')
    expect(await registered(api)).toHaveLength(1)
    expect(await listening.end()).toBe(0)
    expect(await registered(api)).toEqual([])
    expect(listening.complained).toEqual([])
  })

  it('passes failures of the app on to the gateway, which retries', async () => {
    const { api, ledger } = await serve()
    const app = await startReceiver(toEnd)
    app.respond = withStatus(500, 'broken')
    const flags = ['--gateway', api.url, '--token', SHOP_TOKEN, '--events', 'payment.failed']
    const listening = start(['listen', '--forward-to', app.url, ...flags])
    toEnd.push(() => listening.end())
    await until(() => listening.printed.length >= 1)
    await steps.settled(ledger, newEntry())
    await steps.failed(ledger, newEntry())
    await until(() => listening.printed.length >= 2)
    expect(listening.printed[1]).toMatch(/payment\.failed .* → HTTP 500/)
    const [{ id }] = (await registered(api)) as [{ id: string }]
    const { deliveries } = (await api.get(`${PATH}/${id}/deliveries`)).body
    await until(async () => {
      const page = await api.get(`${PATH}/${id}/deliveries`)
      return page.body.deliveries[0].lastResponse === 'broken'
    })
    expect(deliveries).toHaveLength(1)
  })

  it('prints no control sequences of a gateway, and reads no endless answer', async () => {
    const toRespond = [
      (res: ServerResponse) =>
        res.writeHead(400).end(JSON.stringify({ detail: 'no\u001b[2J\u202e' })),
      (res: ServerResponse) => {
        const send = (): void => {
          while (!res.destroyed && res.write('x'.repeat(65_536)));
          if (!res.destroyed) res.once('drain', send)
        }
        send()
      },
    ]
    for (const respond of toRespond) {
      const gateway = closedBy(toEnd, await listen((_req, res) => respond(res)))
      const listening = start(['listen', '--gateway', gateway.url, '--token', SHOP_TOKEN])
      await listening.exit.catch(() => undefined)
      expect(listening.complained.join()).not.toMatch(/\p{Cf}|\p{Cc}/u)
      expect(listening.printed.join()).not.toContain('xxx')
    }
  })

  it('refuses events that its gateway has not signed', async () => {
    const { api } = await serve()
    const app = await startReceiver(toEnd)
    const flags = ['--gateway', api.url, '--token', SHOP_TOKEN]
    const listening = start(['listen', '--forward-to', app.url, ...flags])
    toEnd.push(() => listening.end())
    await until(() => listening.printed.length >= 1)
    const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(listening.printed[0]!)![0]
    const forged = start([
      'trigger',
      'payment.settled',
      '--to',
      url,
      '--secret',
      createWebhookSecret(),
    ])
    expect(await forged.exit).toBe(1)
    expect(forged.printed.join()).toMatch(/HTTP 401/)
    expect((await fetch(url, { method: 'POST', body: 'a'.repeat(2_000_000) })).status).toBe(413)
    expect(app.received).toEqual([])
  })

  it('repeats the gateway’s refusal', async () => {
    const { api } = await serve(false)
    const refused = start(['listen', '--gateway', api.url, '--token', SHOP_TOKEN])
    expect(await refused.exit).toBe(1)
    expect(refused.complained.join()).toMatch(/HTTP 400: .*https URL/)
    const stranger = start([
      'listen',
      '--gateway',
      api.url,
      '--token',
      'x402_wrong-token-of-nobody',
    ])
    expect(await stranger.exit).toBe(1)
    expect(stranger.complained.join()).toMatch(/HTTP 401: .*belongs to no project/)
    const away = start(['listen', '--gateway', 'http://127.0.0.1:9', '--token', SHOP_TOKEN])
    expect(await away.exit).toBe(1)
    expect(away.complained.join()).toMatch(/http:\/\/127\.0\.0\.1:9 does not answer/)
    for (const { complained } of [refused, stranger, away])
      expect(complained.join()).not.toMatch(/x402_/)
  })

  it.each([
    [['listen'], /--token is missing/],
    [['listen', '--token', 'x', '--forward-to', 'localhost:3000'], /--forward-to takes an http/],
    [['listen', '--forward', 'x'], /--forward-to/],
  ])('explains the wrong command line %j', async (argv, words) => {
    const wrong = start(argv)
    expect(await wrong.exit).toBe(2)
    expect(wrong.complained.join()).toMatch(words)
  })
})

describe('trigger', () => {
  it.each([
    ['payment.settled', { status: 'settled', version: 1 }],
    ['payment.failed', { status: 'failed', errorReason: expect.any(String) }],
    ['payment.pending', { status: 'pending' }],
    ['payment.corrected', { status: 'settled', version: 2 }],
    ['refund.settled', { status: 'settled', version: 1 }],
    ['checkout.paid', { status: 'paid', amount: '0.01', currency: 'USD' }],
    ['relayer.low', { balance: '0' }],
    ['webhook.test', {}],
  ])('sends a signed %s that is marked as a test', async (type, data) => {
    const app = await startReceiver(toEnd)
    const secret = createWebhookSecret()
    const sent = start(['trigger', type, '--to', app.url], { X402_WEBHOOK_SECRET: secret })
    expect(await sent.exit).toBe(0)
    expect(sent.printed).toEqual([`${type} → HTTP 204`])
    app.verify(app.received[0]!, secret)
    expect(app.received[0]).toMatchObject({ type, data: { test: true, ...data } })
  })

  it('fails if the app fails, and shows its response', async () => {
    const app = await startReceiver(toEnd)
    app.respond = withStatus(400, 'bad signature')
    const flags = ['--to', app.url, '--secret', createWebhookSecret()]
    const sent = start(['trigger', 'payment.settled', ...flags])
    expect(await sent.exit).toBe(1)
    expect(sent.printed).toEqual(['payment.settled → HTTP 400', 'bad signature'])
    const away = start(['trigger', 'payment.settled', ...flags.with(1, 'http://127.0.0.1:9/')])
    expect(await away.exit).toBe(1)
    expect(away.complained).toEqual(['The connection was refused.'])
  })

  it('prints no control sequences of the app’s response', async () => {
    const app = await startReceiver(toEnd)
    app.respond = withStatus(400, 'a\u001b]0;b\u0007\u202ec')
    const flags = ['--to', app.url, '--secret', createWebhookSecret()]
    const sent = start(['trigger', 'payment.settled', ...flags])
    await sent.exit
    expect(sent.printed).toEqual(['payment.settled → HTTP 400', 'a?]0;b??c'])
  })

  it.each([
    [['trigger'], /name of an event is missing/],
    [['trigger', 'payment.setled', '--to', 'http://localhost/'], /did you mean payment\.settled/],
    [['trigger', 'payment.settled'], /--to is missing/],
    [['trigger', 'payment.settled', '--to', 'http://localhost/'], /--secret is missing/],
    [
      ['trigger', 'payment.settled', '--to', 'http://localhost/', '--secret', 'whsec_short'],
      /--secret takes whsec_/,
    ],
    [
      ['trigger', 'payment.settled', '--to', 'ftp://localhost/', '--secret', createWebhookSecret()],
      /--to must be an absolute http/,
    ],
    [['trigger', 'payment.settled', 'now'], /Unexpected argument 'now'/],
  ])('explains the wrong command line %j', async (argv, words) => {
    const wrong = start(argv)
    expect(await wrong.exit).toBe(2)
    expect(wrong.complained.join()).toMatch(words)
    expect(wrong.complained.join()).not.toContain('whsec_short')
  })
})
