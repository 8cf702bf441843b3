import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, describe, expect, it } from '@jest/globals'
import cors from 'cors'
import express from 'express'
import { createGateway } from '../../../../src/gateway/gateway.js'
import { world } from '../../../../src/shared/world.js'
import { runCli } from '../../../../src/tools/cli/cli.js'
import { temporaryFolder, useCleanup } from '../../../support/cleanup.js'
import { listen } from '../../../support/http.js'

const cleanups = useCleanup()
const folder = temporaryFolder(useCleanup(afterAll))

/** Runs `doctor` in a folder without a configuration. */
async function doctor(...args: readonly string[]) {
  const printed: string[] = []
  const complained: string[] = []
  const code = await runCli(['doctor', ...args], {
    env: {},
    cwd: folder,
    signal: new AbortController().signal,
    print: (line) => void printed.push(line),
    complain: (line) => void complained.push(line),
    write: async () => undefined,
  })
  return { code, printed, complained }
}

/** What it finds besides the missing HTTPS: `error code: message`. */
async function problemsOf(url: string): Promise<readonly string[]> {
  const { printed } = await doctor('--public', url, '--json')
  const { findings } = JSON.parse(printed.join()) as {
    findings: { status: string; code: string; message: string }[]
  }
  return findings
    .filter(({ status, code }) => status !== 'ok' && code !== 'public_url_insecure')
    .map(({ status, code, message }) => `${status} ${code}: ${message.replaceAll(url, '')}`)
}

async function serve(handler: (req: IncomingMessage, res: ServerResponse) => void) {
  const server = await listen(handler)
  cleanups.push(() => server.close())
  return server.url
}

const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const PAY_TO = '0x000000000000000000000000000000000000bEEF'

/** A gateway that sells on Base. Its node is never asked. */
function openGateway() {
  const privateKey = `0x${'5e'.repeat(32)}` as const
  const gateway = createGateway({
    networks: { base: { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [privateKey] } },
    projects: [{ id: 'shop', merchant: { payTo: PAY_TO } }],
  })
  cleanups.push(() => gateway.close())
  return gateway
}

const DESCRIBED = {
  description: 'The weather',
  input: { query: { type: 'object', properties: { city: { type: 'string', pattern: '^\\w+$' } } } },
  examples: { query: { city: 'Bern' }, output: { celsius: 21 } },
}

describe('doctor --public on a gateway', () => {
  it('finds nothing but the missing HTTPS, and asks all routes of the site', async () => {
    const gateway = openGateway()
    const app = express().use(cors(), express.json(), gateway.discovery())
    const { input: _input, ...described } = DESCRIBED
    app.get('/weather', gateway.x402Protect('$0.01', DESCRIBED), () => undefined)
    app.post('/forecast', gateway.x402Protect('$0.02', described), () => undefined)
    const url = await serve(app)
    const { code, printed } = await doctor('--public', url, '--json')
    const { findings } = JSON.parse(printed.join()) as { findings: object[] }
    expect(code).toBe(1)
    expect(findings).toStrictEqual([
      {
        subject: 'route',
        status: 'error',
        code: 'public_url_insecure',
        message: `${url}: is not HTTPS on a public host: catalogues refuse it.`,
      },
      ...[
        ['catalogue', `GET ${url}/.well-known/x402: lists 2 routes.`],
        ['route', `GET ${url}/weather: asks for 0.01 USDC on Base.`],
        ['route', `POST ${url}/forecast: asks for 0.02 USDC on Base.`],
      ].map(([subject, message]) => ({ subject, status: 'ok', code: 'ok', message })),
    ])
  })

  it('warns of what a plain route lacks, in one line for all that lack it', async () => {
    const gateway = openGateway()
    const app = express().use(gateway.discovery())
    for (const path of ['/a', '/b', '/c', '/d', '/e'])
      app.get(path, gateway.x402Protect('$2'), () => undefined)
    const { printed } = await doctor('--public', await serve(app))
    expect(printed.filter((line) => line.startsWith('warning'))).toStrictEqual([
      expect.stringMatching(/offer_unusual: GET .*\/a, GET .*\/b, GET .*\/c and 2 more: 2 USDC on/),
      expect.stringMatching(/bazaar_invalid: GET .* and 2 more: its 402 does not describe/),
      expect.stringMatching(/cors_missing: GET .* and 2 more: buyers on other websites/),
    ])
    expect(printed.at(-1)).toMatch(/^1 error, 3 warnings\. 2 checks passed: catalogue, route\.$/)
  })
})

const ENTRY = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '10000',
  asset: USDC,
  payTo: PAY_TO,
  maxTimeoutSeconds: 60,
  extra: { name: 'USD Coin', version: '2' },
}
const BAZAAR = {
  info: { input: { type: 'http', method: 'GET' }, output: { type: 'json' } },
  schema: { type: 'object', properties: { input: { type: 'object' } }, required: ['input'] },
}
const object = { type: 'object' }
const CONTROL = '\u001b]0;pwned\u0007\u202e'
const SOUND = { x402Version: 2, accepts: [ENTRY], extensions: { bazaar: BAZAAR } }

interface Spoiled {
  /** Members of the document. */
  readonly document?: object
  readonly description?: string
  /** The body, if it is another one. */
  readonly body?: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly entry?: object
  readonly bazaar?: object
  /** Status of requests by other methods. */
  readonly others?: Readonly<Record<string, number>>
}

/** A server with one route that is sound but for what is spoiled. */
function serveSpoiled(spoiled: Spoiled): Promise<string> {
  const { document, body, entry, bazaar, status = 402, headers, others, description } = spoiled
  return serve((req, res) => {
    const required = {
      ...SOUND,
      resource: { url: `http://${req.headers.host}/route`, description },
      ...(entry && { accepts: [{ ...ENTRY, ...entry }] }),
      ...(bazaar && { extensions: { bazaar: { ...BAZAAR, ...bazaar } } }),
      ...document,
    }
    const json = JSON.stringify(required)
    res.writeHead(others?.[req.method ?? ''] ?? (req.method === 'OPTIONS' ? 204 : status), {
      'PAYMENT-REQUIRED': Buffer.from(json).toString('base64'),
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Headers': '*',
      'Access-Control-Expose-Headers': '*',
      ...headers,
    })
    res.end(body ?? json)
  })
}

const CASES: readonly (readonly [title: string, spoiled: Spoiled, finding: RegExp | undefined])[] =
  [
    ['nothing', {}, undefined],
    ['an empty body, as official servers send it', { body: '{}' }, undefined],
    ['a body of version 1', { body: '{"x402Version":1,"accepts":[]}' }, undefined],
    ['a body that is no JSON', { body: '<html>' }, /^warning offer_unusual: .*body .* not JSON/],
    ['another body', { body: '{"x402Version":2}' }, /^error offer_malformed: .*body .* differs/],
    ['no header', { headers: { 'PAYMENT-REQUIRED': '' } }, /^error offer_malformed: .* is empty/],
    ['garbage', { headers: { 'PAYMENT-REQUIRED': '!' } }, /^error offer_malformed: .* not base64/],
    ['version 1', { document: { x402Version: 1 } }, /^error offer_malformed: .*x402Version .* 2/],
    [
      'no offer',
      { document: { accepts: [] } },
      /^error offer_malformed: .*accepts .* not be empty/,
    ],
    ['an amount in dollars', { entry: { amount: '0.01' } }, /^error offer_malformed: .*0.amount /],
    ['an amount of zero', { entry: { amount: '0' } }, /^error offer_malformed: .* more than 0/],
    ['no time', { entry: { maxTimeoutSeconds: null } }, /^error offer_malformed: .*maxTimeoutSec/],
    ['a short network name', { entry: { network: 'base' } }, /^error offer_malformed: .* CAIP-2/],
    ['the zero address', { entry: { payTo: `0x${'0'.repeat(40)}` } }, /^error .* zero address/],
    [
      'the URL of another host',
      { document: { resource: { url: 'http://localhost:3000/route?key=secret' } } },
      /^error offer_malformed: .*resource.url is http:\/\/localhost:3000\/route, .* publicUrl/,
    ],
    [
      'a long description',
      { description: 'x'.repeat(501) },
      /^warning offer_unusual: .*description is longer than 500/,
    ],
    [
      'a token of another network',
      { entry: { network: 'eip155:84532' } },
      /^error token_missing: .* is in a token of Base: /,
    ],
    [
      'the EIP-712 name of another network',
      { entry: { extra: { name: 'USDC', version: '2' } } },
      /^error token_domain_mismatch: .*'USD Coin', '2'/,
    ],
    ['no EIP-712 domain', { entry: { asset: PAY_TO, extra: {} } }, /^error token_domain_mismatch/],
    [
      'an unknown token',
      { entry: { asset: PAY_TO } },
      /^warning offer_unusual: .* official clients refuse by default/,
    ],
    ['a high price', { entry: { amount: '1000001' } }, /^warning offer_unusual: .* above \$1.00/],
    [
      'a test network',
      {
        entry: {
          network: 'eip155:84532',
          asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
          extra: { name: 'USDC', version: '2' },
        },
      },
      /^warning offer_unusual: .* play money/,
    ],
    ['no schemas', { document: { extensions: {} } }, /^warning bazaar_invalid: .*input and output/],
    ['no output', { bazaar: { info: { input: {} } } }, /^warning bazaar_invalid: .*describe its o/],
    [
      'the schema of another method',
      { bazaar: { info: { ...BAZAAR.info, input: { type: 'http', method: 'POST' } } } },
      /^error bazaar_invalid: .*input.method must be GET/,
    ],
    [
      'an example that contradicts its schema',
      { bazaar: { schema: { type: 'object', properties: { output: { type: 'string' } } } } },
      /^error bazaar_invalid: .*output must be a string/,
    ],
    [
      'an example that commands the terminal',
      {
        bazaar: {
          schema: { type: 'object', properties: { [CONTROL]: object }, required: [CONTROL] },
        },
      },
      /^error bazaar_invalid: .*\?]0;pwned\?\? /,
    ],
    [
      'a schema that would be checked for ever',
      {
        bazaar: {
          info: { input: {}, output: { example: `${'a'.repeat(60)}!` } },
          schema: {
            type: 'object',
            properties: {
              output: {
                type: 'object',
                properties: { example: { type: 'string', pattern: '^(a+)+$' } },
              },
            },
          },
        },
      },
      /^warning bazaar_invalid: .*cannot be checked: .*timed out/,
    ],
    [
      'a long header',
      { document: { more: 'x'.repeat(7000) } },
      /^warning header_too_large: .* has 10\d{3} bytes/,
    ],
    [
      'headers that no client takes',
      { headers: { 'X-Long': 'x'.repeat(20_000) } },
      /^error header_too_large: .*16 KiB/,
    ],
    ['a free answer', { status: 200 }, /^error unexpected_answer: .* 200, not 402/],
    ['a crash', { status: 500 }, /^error unexpected_answer: .* 500, not 402/],
    ['a request for input', { status: 400 }, /^warning unexpected_answer: .* 400 without input/],
    [
      'a redirect that comes back to itself',
      { status: 308, headers: { Location: '/route?key=secret' } },
      /^error unexpected_answer: .* 308, not 402, and leads to .*\/route: /,
    ],
    ['a long answer', { body: 'x'.repeat(300_000) }, /^error unexpected_answer: .* too much/],
    ['a free HEAD', { others: { HEAD: 200 } }, /^warning unexpected_answer: .* HEAD with 200/],
    ['a crash on HEAD', { others: { HEAD: 500 } }, /^warning unexpected_answer: .* HEAD with 500/],
    [
      'a crash on OPTIONS',
      { others: { OPTIONS: 500 }, headers: {} },
      /^warning unexpected_answer: .* OPTIONS with 500/,
    ],
    [
      'a preflight that is refused',
      { headers: { 'Access-Control-Allow-Origin': 'https://shop.example' } },
      /^warning cors_missing: .* cors\(\)/,
    ],
    [
      'a preflight without our header',
      { headers: { 'Access-Control-Allow-Headers': 'content-type' } },
      /^warning cors_missing: .* allow PAYMENT-SIGNATURE/,
    ],
    [
      'a 402 that scripts cannot read',
      { headers: { 'Access-Control-Expose-Headers': 'etag' } },
      /^warning cors_missing: .* expose PAYMENT-REQUIRED/,
    ],
  ]

describe('doctor --public on a server with', () => {
  it.each(CASES)('%s', async (_title, spoiled, finding) => {
    const found = await problemsOf(`${await serveSpoiled(spoiled)}/route?key=secret`)
    expect(found[0] ?? 'nothing').toMatch(finding ?? /^nothing$/)
    expect(found.join()).not.toContain('secret')
  })
})

describe('doctor --public on a catalogue', () => {
  const serveListing = (listing: unknown, status = 200) =>
    serve((_req, res) => void res.writeHead(status).end(JSON.stringify(listing)))

  it.each([
    ['none', 404, {}, /^error catalogue_incomplete: .* answers 404/],
    ['garbage', 200, 'garbage', /^error catalogue_incomplete: .*discovery\(\)/],
    ['no list', 200, { resources: {} }, /^error catalogue_incomplete: .*discovery\(\)/],
    [
      'an entry that is filled in part',
      200,
      { resources: ['/a', { url: '/b', price: '$0.01' }] },
      /^error catalogue_incomplete: .*resources.1 must be a URL, /,
    ],
    [
      'other hosts and methods',
      200,
      { resources: ['http://169.254.169.254/', 'DELETE /a', { url: '/b', method: 'PUT' }] },
      /^warning catalogue_incomplete: .* 3 of 3 resources not checked/,
    ],
    ['nothing', 200, { resources: [] }, /^warning catalogue_incomplete: .* 0 of 0 resources/],
  ])('finds %s', async (_title, status, listing, finding) => {
    expect((await problemsOf(await serveListing(listing, status)))[0]).toMatch(finding)
  })

  it('reads pointers with methods, and complete entries, and asks 50 of them', async () => {
    const asked: string[] = []
    const resources = [
      'POST /a',
      { url: '/b', method: 'GET', description: 'B' },
      { url: '/c', accepts: [ENTRY], lastUpdated: 1 },
      ...Array.from({ length: 60 }, (_one, index) => `/${index}`),
    ]
    const url = await serve((req, res) => {
      asked.push(`${req.method} ${req.url}`)
      res.end(JSON.stringify({ resources }))
    })
    const found = await problemsOf(url)
    expect(asked.slice(1, 5)).toStrictEqual(['POST /a', 'GET /b', 'GET /c', 'GET /0'])
    expect(asked).toHaveLength(51)
    expect(found).toStrictEqual([
      expect.stringMatching(/^warning catalogue_incomplete: .* 13 of 63 resources not checked/),
      expect.stringMatching(/^error unexpected_answer: POST \/a, GET \/b, GET \/c and 47 more/),
    ])
  })
})

describe('doctor --public on a server that', () => {
  it('is slow: it ends after two minutes, and says what is left', async () => {
    const { elapsed } = world
    cleanups.push(() => (world.elapsed = elapsed))
    const url = await serve((_req, res) => {
      const start = elapsed()
      world.elapsed = () => start + 120_000
      res.end(JSON.stringify({ resources: ['/a', '/b'] }))
    })
    expect(await problemsOf(url)).toStrictEqual([
      expect.stringMatching(/^warning timeout: .* 2 routes not checked/),
    ])
  })

  it('is not there', async () => {
    const server = await listen(() => undefined)
    await server.close()
    expect(await problemsOf(`${server.url}/route`)).toStrictEqual([
      expect.stringMatching(/^error public_url_unreachable: .*not answer \(ECONNREFUSED\)/),
    ])
  })

  it('sends without end', async () => {
    const url = await serve((_req, res) => {
      const timer = setInterval(() => void res.write('x'.repeat(100_000)), 1)
      res.once('close', () => clearInterval(timer))
    })
    expect(await problemsOf(`${url}/route`)).toStrictEqual([
      expect.stringMatching(/^error unexpected_answer: .* too much/),
    ])
  })

  it('never answers', async () => {
    expect(await problemsOf(`${await serve(() => undefined)}/route`)).toStrictEqual([
      expect.stringMatching(/^error public_url_unreachable: .*\(no complete answer in time\)/),
    ])
  })
})

describe('the arguments of doctor --public', () => {
  it.each([
    [['--public', 'shop.example'], /takes a URL like/],
    [['--public', 'https://me:pa55word@shop.example'], /without a password/],
    [['--public', 'https://shop.example', '--config', 'x'], /excludes --config/],
    [['--public', 'https://shop.example', '--ledger', 'x'], /excludes --config and --ledger/],
  ])('%j', async (args, message) => {
    const { code, complained } = await doctor(...args)
    expect(code).toBe(2)
    expect(complained.join()).toMatch(message)
    expect(complained.join()).not.toContain('pa55word')
  })
})
