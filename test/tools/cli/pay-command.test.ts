import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import { runCli } from '../../../src/tools/cli/cli.js'
import { PAYERS } from '../../../src/tools/devnet/accounts.js'
import { problemDetails } from '../../../src/shared/http/respond-problem.js'
import {
  encodeHeader,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
  PAYMENT_SIGNATURE,
} from '../../../src/shared/protocol/headers.js'
import type { ProblemCode } from '../../../src/shared/http/problem-status.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { permit2Of } from '../devnet/permit2.js'
import { useCleanup } from '../../support/cleanup.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { listen, type TestServer } from '../../support/http.js'
import { openShop } from '../../support/shop.js'
import { until } from '../../support/until.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'

const devnet = useDevnet()
const balances = () =>
  Promise.all([balanceOf(devnet, PAYERS[0]!.address), balanceOf(devnet, devnet.merchant.address)])

let cwd: string
let shop: Awaited<ReturnType<typeof openShop>>
let proxy: RpcProxy
let official: TestServer
/** What was asked of the routes below. */
const seen: { method: string; body: unknown; extra: unknown }[] = []
/** Offers of a server that is not honest. */
let offers: object[] = []
let odd: TestServer
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'x402-pay-'))
  proxy = await startRpcProxy(devnet.rpcUrl)
  shop = await openShop(
    devnet,
    (app, gateway) => {
      app.use(express.json())
      app.all('/report', gateway.x402Protect('$0.25'), (req, res) => {
        seen.push({ method: req.method, body: req.body, extra: req.headers['x-extra'] })
        res.json({ sold: true })
      })
      app.get('/dear', gateway.x402Protect('$1.01'), (_req, res) => void res.send('dear'))
      app.get('/image', gateway.x402Protect('$0.01'), (_req, res) => {
        res.type('png').send(Buffer.from([137, 80, 78, 71]))
      })
      app.get('/short', gateway.x402Protect('$0.01'), (_req, res) => void res.end('ok'))
      app.get('/broken', gateway.x402Protect('$0.01'), (_req, res) => void res.sendStatus(500))
      app.get('/free', (_req, res) => void res.send('free'))
      app.use(gateway.gatewayRouter())
    },
    {
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys } },
      settleTimeoutMs: 8000,
    },
  )
  const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
  const facilitator = new HTTPFacilitatorClient({
    url: `${shop.url}/api/v2/payment`,
    createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
  })
  const server = new x402ResourceServer(facilitator).register('eip155:84532', new ExactEvmScheme())
  const accepts = {
    scheme: 'exact',
    network: 'eip155:84532',
    price: '$0.03',
    payTo: devnet.merchant.address,
  } as const
  official = await listen(
    express()
      .use(paymentMiddleware({ 'GET /paid': { accepts } }, server))
      .get('/paid', (_req, res) => void res.send('sold by others')),
  )
  odd = await listen(
    express().get('/', (_req, res) => {
      const document = { x402Version: 2, resource: { url: 'x' }, accepts: offers }
      res.status(402).set(PAYMENT_REQUIRED, encodeHeader(document)).end()
    }),
  )
})
afterAll(async () => {
  await Promise.all([official.close(), odd.close(), shop.close()])
  await proxy.close()
  await rm(cwd, { recursive: true })
})

/** Runs `pay`. */
async function pay(
  args: readonly string[],
  env: Record<string, string> = {},
  complained: string[] = [],
) {
  let bought = ''
  const code = await runCli(['pay', ...args], {
    ...{ env, cwd, signal: new AbortController().signal },
    print: (line) => void (bought += line),
    complain: (line) => void complained.push(line),
    write: async (text) => void (bought += text),
  })
  return { code, bought, told: complained.join('\n') }
}

describe('pay', () => {
  it('buys, prints each step, and moves the money once', async () => {
    const before = await balances()
    const { code, bought, told } = await pay([`${shop.url}/report`, '--devnet'])
    expect([code, bought]).toStrictEqual([0, '{"sold":true}\n'])
    for (const step of [
      `→ GET ${shop.url}/report`,
      '→ Answer: 402',
      `→ Offer chosen: 0.25 USDC on Base Sepolia, to ${devnet.merchant.address}`,
      '→ Signing TransferWithAuthorization of 0.25 USDC',
      `from ${PAYERS[0]!.address}`,
      '→ Presenting the payment',
      '→ Answer: 200',
    ])
      expect(told).toContain(step)
    expect(told).toMatch(/→ Settled on eip155:84532, transaction 0x[0-9a-f]{64}$/)
    expect(told).not.toContain(PAYERS[0]!.privateKey.slice(2))
    const [payer, merchant] = await balances()
    expect([before[0] - payer, merchant - before[1]]).toStrictEqual([250_000n, 250_000n])
  })

  it('buys from the official server', async () => {
    const { code, bought } = await pay([`${official.url}/paid`, '--devnet'])
    expect([code, bought]).toStrictEqual([0, 'sold by others\n'])
  })

  it('sends the request of its flags, with a key of the environment or of a file', async () => {
    const [, , second] = devnet.payers
    await writeFile(join(cwd, 'key'), `${second!.privateKey.slice(2)}\n`)
    const request = ['--data', '{"a":1}', '--header', 'X-Extra: yes', '--method', 'put']
    const byFile = await pay([`${shop.url}/report`, '--key-file', 'key', ...request])
    expect(byFile.code).toBe(0)
    expect(seen.at(-1)).toStrictEqual({ method: 'PUT', body: { a: 1 }, extra: 'yes' })
    const env = { BUYER: second!.privateKey }
    expect((await pay([`${shop.url}/report`, '--key-env', 'BUYER'], env)).code).toBe(0)
  })

  it('reads the key from .env, which the environment overrides', async () => {
    const [, , second] = devnet.payers
    await writeFile(join(cwd, '.env'), `BUYER=${second!.privateKey}\n`)
    const byFile = await pay([`${shop.url}/report`, '--key-env', 'BUYER'])
    const overridden = await pay([`${shop.url}/report`, '--key-env', 'BUYER'], { BUYER: 'none' })
    await rm(join(cwd, '.env'))
    expect(byFile.code).toBe(0)
    expect(byFile.told).toContain(`from ${second!.address}`)
    expect(overridden.told).toContain('The variable BUYER must be 0x')
  })

  it('writes a binary response to a file', async () => {
    const shown = await pay([`${shop.url}/image`, '--devnet'])
    expect([shown.code, shown.bought]).toStrictEqual([0, ''])
    expect(shown.told).toContain('4 bytes of image/png. Save them with --output.')
    await pay([`${shop.url}/image`, '--devnet', '--output', 'a.png'])
    expect([...(await readFile(join(cwd, 'a.png')))]).toStrictEqual([137, 80, 78, 71])
  })

  it('shows a text that has no type', async () => {
    expect((await pay([`${shop.url}/short`, '--devnet'])).bought).toBe('ok\n')
  })

  it('pays nothing if the purchase cannot be written', async () => {
    const before = await balances()
    for (const output of ['missing/a.png', '.']) {
      const { code, told } = await pay([`${shop.url}/image`, '--devnet', '--output', output])
      expect(code).toBe(1)
      expect(told).toContain('Nothing was bought.')
    }
    expect(await balances()).toStrictEqual(before)
  })

  it('does not repeat a key that was given in place of its variable', async () => {
    const key = PAYERS[0]!.privateKey
    const { code, told } = await pay([`${shop.url}/image`, '--key-env', key])
    expect(code).toBe(2)
    expect(told).toContain('--key-env takes the name of a variable')
    expect(told).not.toContain(key)
  })

  it('pays nothing for a free or failing resource', async () => {
    const before = await balances()
    expect(await pay([`${shop.url}/free`, '--devnet'])).toMatchObject({
      ...{ code: 0, told: expect.stringContaining('Nothing to pay.') },
    })
    const failed = await pay([`${shop.url}/broken`, '--devnet'])
    expect(failed.code).toBe(1)
    expect(failed.told).toContain('The response reports no settlement.')
    expect(await balances()).toStrictEqual(before)
  })

  it('pays no more than --max-amount, by default $1.00', async () => {
    const before = await balances()
    const refused = await pay([`${shop.url}/dear`, '--devnet'])
    expect(refused.code).toBe(1)
    expect(refused.told).toContain('1.01 USDC on Base Sepolia: that is more than --max-amount')
    const euros = await pay([`${shop.url}/dear`, '--devnet', '--max-amount', '€5'])
    expect(euros.told).toContain('--max-amount is in EUR')
    expect(await balances()).toStrictEqual(before)
    expect((await pay([`${shop.url}/dear`, '--devnet', '--max-amount', '$1.01'])).code).toBe(0)
  })

  it('presents the same payment again while its outcome is unknown, and pays once', async () => {
    const before = await balances()
    let isLost = true
    proxy.fault = (method) =>
      // Not the blocks: fees are read from them, and the payment would not be sent.
      isLost && /^eth_(getTransactionReceipt|getBlockReceipts)$/.test(method)
        ? { kind: 'http', status: 503 }
        : undefined
    const paying = pay([`${shop.url}/report`, '--devnet'])
    const events = shop.events
    const pendingBefore = events.pending?.length ?? 0
    await until(() => (events.pending?.length ?? 0) > pendingBefore)
    isLost = false
    const { code, told } = await paying
    proxy.fault = undefined
    expect(code).toBe(0)
    expect(told).toMatch(/Answer: 503 settlement_pending: The payment was accepted, and/)
    expect(told).toMatch(/The outcome is unknown so far, transaction 0x[0-9a-f]{64}/)
    expect(told).toContain('Presenting the same payment again')
    expect((await balances())[1] - before[1]).toBe(250_000n)
  })

  it('explains why a payment was not accepted, and presents the same one once it can be', async () => {
    const before = await balances()
    const told: string[] = []
    proxy.fault = () => ({ kind: 'http', status: 503 })
    const paying = pay([`${shop.url}/report`, '--devnet'], {}, told)
    await until(() => told.some((line) => line.includes('Answer: 503')))
    proxy.fault = undefined
    expect((await paying).code).toBe(0)
    expect(told.join('\n')).toContain('→ Answer: 503 chain_unreachable: ')
    expect(told.join('\n')).not.toContain('The outcome is unknown')
    expect((await balances())[1] - before[1]).toBe(250_000n)
  })
})

describe('pay, when each answer to a payment is 503,', () => {
  const problem = (code: ProblemCode) => problemDetails({ code, detail: `Why: ${code}.` }, 503)
  /** Presents a payment to a server with these answers, of which the last one is repeated. */
  async function present(bodies: readonly object[], headers: Record<string, string> = {}) {
    let count = 0
    const accepted = {
      ...{ scheme: 'exact', network: 'eip155:84532', amount: '10000', maxTimeoutSeconds: 60 },
      ...{ payTo: devnet.merchant.address, asset: devnet.asset },
      extra: { name: 'USDC', version: '2' },
    }
    const app = express().get('/', (req, res) => {
      if (req.get(PAYMENT_SIGNATURE) === undefined)
        return void res.status(402).json({ x402Version: 2, accepts: [accepted] })
      const body = bodies[Math.min(count++, bodies.length - 1)]
      res.status(503).set({ 'Retry-After': '0.01', ...headers })
      res.type('application/problem+json').send(JSON.stringify(body))
    })
    const server = await listen(app)
    const result = await pay([server.url, '--devnet'])
    await server.close()
    expect([result.code, count]).toStrictEqual([1, 6])
    return { ...result, last: result.told.split('\n').at(-1) }
  }
  const NOT_TAKEN = 'The seller could not take the payment. Nothing was charged. Try again later.'

  it.each(['chain_unreachable', 'rate_unavailable', 'relayer_without_funds', 'gas_price_too_high'])(
    'says that nothing was settled if the code guarantees it: %s',
    async (code) => {
      const { told, last } = await present([problem(code as ProblemCode)])
      expect(told).toContain(`→ Answer: 503 ${code}: Why: ${code}.`)
      expect(told).not.toContain('unknown')
      expect(last).toBe(NOT_TAKEN)
    },
  )

  it.each<[string, readonly object[], Record<string, string>]>([
    ['the transaction is out', [problem('settlement_pending')], {}],
    ['the ledger failed, perhaps after the transfer', [problem('ledger_unavailable')], {}],
    ['the answer of a facilitator was lost', [problem('facilitator_unreachable')], {}],
    [
      'an earlier request sent it',
      [problem('settlement_pending'), problem('chain_unreachable')],
      {},
    ],
    ['the code is of another server', [{ code: 'chain_unreachable', detail: 'Who knows.' }], {}],
    ['there is no code', [{ type: 'about:blank' }], {}],
    [
      'there is a settlement beside the code',
      [problem('chain_unreachable')],
      { [PAYMENT_RESPONSE]: encodeHeader({ success: false, transaction: `0x${'0a'.repeat(32)}` }) },
    ],
  ])('does not say that nothing was settled if %s', async (_name, bodies, headers) => {
    const { told, last } = await present(bodies, headers)
    expect(told).toContain('→ The outcome is unknown so far')
    expect(last).toMatch(/^The outcome is unknown\. .* may have taken the payment/)
  })

  it('shows no terminal control sequences of a problem', async () => {
    const { told } = await present([{ code: 'a\x1b[2J', detail: 'b\x07' }])
    expect(told).toContain('→ Answer: 503 a?[2J: b?')
  })

  it('shows no terminal control sequences of its URL', async () => {
    const { told } = await pay([`${odd.url}/?\x1b[2J\nforged`, '--devnet'])
    expect(told).toContain(`→ GET ${odd.url}/?%1B[2Jforged`)
  })

  it('writes no control sequences to a terminal, and the bytes as bought to a file', async () => {
    const server = await listen(
      express().get('/', (_req, res) => void res.type('text').send('a\u001b[2Jb')),
    )
    const terminal = await pay([server.url, '--devnet'])
    const file = await pay([server.url, '--devnet', '--output', 'bought.txt'])
    await server.close()
    expect([terminal.code, file.code]).toStrictEqual([0, 0])
    expect(terminal.bought).toBe('a?[2Jb\n')
    expect(await readFile(join(cwd, 'bought.txt'), 'utf8')).toBe('a\u001b[2Jb')
  })

  it('explains why there is no price', async () => {
    const app = express().get('/', (_req, res) => {
      res.status(503).type('application/problem+json')
      res.send(JSON.stringify(problem('rate_unavailable')))
    })
    const server = await listen(app)
    const { code, told } = await pay([server.url, '--devnet'])
    await server.close()
    expect(code).toBe(1)
    expect(told).toContain('→ Answer: 503 rate_unavailable: Why: rate_unavailable.')
    expect(told).not.toContain('Nothing to pay.')
  })
})

describe('pay, by Permit2,', () => {
  const permit2 = permit2Of(devnet)
  const toEnd = useCleanup()
  const payer = () => devnet.payers[3]!
  const open = async () => {
    const options = shopOptions(devnet)
    const [network] = Object.values(options.networks ?? {})
    const sold = await openShop(
      devnet,
      (app, { x402Protect }) => {
        app.get('/fixed', x402Protect('$0.02'), (_req, res) => void res.send('fixed'))
        app.get('/metered/:charge', x402Protect({ upTo: '$0.10' }), (req, res) => {
          paidRequest(req).charge(`$${req.params.charge}`)
          res.send('metered')
        })
      },
      {
        networks: {
          'base-sepolia': {
            ...network!,
            assets: [{ address: devnet.asset, symbol: 'USDC', decimals: 6, currency: 'USD' }],
          },
        },
      },
    )
    toEnd.push(() => sold.close())
    return sold
  }
  const env = () => ({ KEY: payer().privateKey })

  it('says how to approve a token that Permit2 may not take, and pays once it is approved', async () => {
    const { url } = await open()
    const before = await balanceOf(devnet, payer().address)
    const refused = await pay([`${url}/fixed`, '--key-env', 'KEY'], env())
    expect(refused.code).toBe(1)
    for (const words of [
      '→ Signing PermitWitnessTransferFrom of 0.02 USDC',
      '→ Answer: 412',
      'Refused: permit2_allowance_required. Nothing was charged.',
      `cast send ${devnet.asset} 'approve(address,uint256)' ${devnet.permit2} 20000 --rpc-url`,
    ])
      expect(refused.told).toContain(words)
    expect(await balanceOf(devnet, payer().address)).toBe(before)
    await permit2.approve(payer().address)
    const { code, bought, told } = await pay([`${url}/fixed`, '--key-env', 'KEY'], env())
    expect([code, bought]).toStrictEqual([0, 'fixed\n'])
    expect(told).toMatch(/→ Settled on eip155:84532, transaction 0x[0-9a-f]{64}$/)
    expect(before - (await balanceOf(devnet, payer().address))).toBe(20_000n)
  })

  it.each([
    ['0.0234', 23_400n, '→ Charged: 0.0234 of at most 0.1 USDC'],
    ['0', 0n, '→ Charged: 0 of at most 0.1 USDC'],
  ])('signs a maximum, and says that %s was charged', async (charge, spent, words) => {
    const { url } = await open()
    await permit2.approve(payer().address)
    const before = await balanceOf(devnet, payer().address)
    const buying = [`${url}/metered/${charge}`, '--key-env', 'KEY', '--max-amount', '$0.10']
    const { code, bought, told } = await pay(buying, env())
    expect([code, bought]).toStrictEqual([0, 'metered\n'])
    expect(told).toContain('→ Offer chosen: up to 0.1 USDC on Base Sepolia')
    expect(told).toContain(words)
    expect(told.includes('transaction')).toBe(spent > 0n)
    expect(before - (await balanceOf(devnet, payer().address))).toBe(spent)
    const stingy = await pay([...buying.slice(0, 3), '--max-amount', '$0.09'], env())
    expect([stingy.code, stingy.told]).toStrictEqual([
      1,
      expect.stringContaining('0.1 USDC on Base Sepolia: that is more than --max-amount'),
    ])
  })
})

describe('pay, if it must not pay,', () => {
  const offer = (overrides: object) => ({
    ...{ scheme: 'exact', network: 'eip155:84532', amount: '10000', maxTimeoutSeconds: 60 },
    ...{ payTo: devnet.merchant.address, asset: devnet.asset },
    extra: { name: 'USDC', version: '2' },
    ...overrides,
  })
  const mainnet = {
    ...{ network: 'eip155:8453', asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' },
    extra: { name: 'USD Coin', version: '2' },
  }
  const key = `0x${'5e'.repeat(32)}`

  it.each([
    [
      'real money without --yes',
      () => offer(mainnet),
      '0.01 USDC on Base: Base is real money; --yes allows it',
    ],
    ['a network that is not known', () => offer({ network: 'solana:5eykt' }), 'unknown network'],
    ['another scheme', () => offer({ scheme: 'batch' }), "unknown scheme 'batch'"],
    [
      'a maximum that is more than --max-amount, whatever will be charged',
      () =>
        offer({
          ...{ scheme: 'upto', amount: '1000001' },
          extra: { assetTransferMethod: 'permit2', facilitatorAddress: devnet.merchant.address },
        }),
      '1.000001 USDC on Base Sepolia: that is more than --max-amount',
    ],
    [
      'a maximum that nobody is named to settle',
      () => offer({ scheme: 'upto', extra: { assetTransferMethod: 'permit2' } }),
      'the offer names nobody who settles it (facilitatorAddress)',
    ],
    [
      'a maximum by another way than Permit2',
      () => offer({ scheme: 'upto' }),
      'a maximum is paid by Permit2 alone',
    ],
    [
      'a token that is not known',
      () => offer({ asset: `0x${'0b'.repeat(20)}` }),
      `10000 atomic units of 0x${'0b'.repeat(20)} on eip155:84532: unknown token`,
    ],
    [
      'another domain',
      () => offer({ extra: { name: 'Evil', version: '2' } }),
      "the offer's EIP-712 domain is not that of USDC",
    ],
    ['a malformed offer', () => offer({ amount: '1e4' }), 'an offer is malformed (amount'],
    [
      'words that a terminal obeys',
      () => offer({ scheme: '\x1b]0;x\x07' }),
      "unknown scheme '?]0;x?'",
    ],
  ])('signs nothing for %s', async (_name, make, reason) => {
    offers = [make()]
    const { code, told } = await pay([odd.url, '--key-env', 'KEY'], { KEY: key })
    expect(code).toBe(1)
    expect(told).toContain(reason)
    expect(told).not.toContain('Signing')
  })

  it('signs for a token whose address the seller writes without its checksum', async () => {
    offers = [offer({ asset: devnet.asset.toLowerCase().replaceAll('f', 'F') })]
    const { told } = await pay([odd.url, '--devnet'])
    expect(told).toContain('→ Presenting the payment')
  })

  it('signs nothing for real money with a publicly known key, even with --yes', async () => {
    offers = [offer(mainnet)]
    const { code, told } = await pay([odd.url, '--devnet', '--yes'])
    expect(code).toBe(1)
    expect(told).toContain("the devnet's keys are public")
  })

  it('signs nothing for a server that does not answer', async () => {
    const gone = await listen(express())
    await gone.close()
    const { code, told } = await pay([gone.url, '--devnet'])
    expect([code, told.split('\n').at(-1)]).toStrictEqual([
      1,
      `${new URL(gone.url).host} does not answer: ECONNREFUSED.`,
    ])
  })

  it.each([
    [['--devnet'], 'One http(s) URL is expected.'],
    [['ftp://x', '--devnet'], 'One http(s) URL is expected.'],
    [['http://me:pa55word@x', '--devnet'], 'The URL contains a password: send it with --header.'],
    [['http://x'], 'Who pays?'],
    [
      ['http://x', '--devnet', '--key-env', 'KEY'],
      'Give only one of --devnet, --key-env and --key-file.',
    ],
    [
      ['localhost:4021/weather', '--devnet'],
      "'localhost:4021/weather' is not a URL: write http://localhost:4021/weather.",
    ],
    [
      ['shop.example/report', '--devnet'],
      "'shop.example/report' is not a URL: write https://shop.example/report.",
    ],
    [['me:pa55word@x', '--devnet'], 'One http(s) URL is expected.'],
    [['localhost:1', 'localhost:2', '--devnet'], 'One http(s) URL is expected.'],
    [['http://x', '--key', key], 'There is no --key here'],
    [['http://x', '--devnet', '--max-amount', '1,000'], '--max-amount: '],
    [['http://x', '--devnet', '--max-amount', 'bash.05'], 'put the amount into single quotes'],
    [['http://x', '--devnet', '--max-amount', '.00'], 'put the amount into single quotes'],
    [['http://x', '--devnet', '--header', 'PAYMENT-SIGNATURE: x'], '--header takes'],
    [['http://x', '--devnet', '--method', 'GET', '--data', 'x'], '--data and GET exclude'],
  ])('signs nothing for a command line like %j', async (args, message) => {
    const { code, told } = await pay(args)
    expect(code).toBe(2)
    expect(told).toContain(message)
    expect(told).not.toMatch(/pa55word|5e5e/)
  })

  it('signs nothing for a malformed key, which it does not repeat', async () => {
    const wrong = await pay(['http://127.0.0.1:9', '--key-env', 'KEY'], { KEY: 'hunter2' })
    expect(wrong.code).toBe(1)
    expect(wrong.told).toContain('The variable KEY must be 0x and 64 hexadecimal digits')
    expect(wrong.told).not.toContain('hunter2')
    expect((await pay(['http://127.0.0.1:9', '--key-env', 'KEY'])).told).toContain('is not set')
    expect((await pay(['http://127.0.0.1:9', '--key-file', 'none'])).told).toContain('ENOENT')
  })
})
