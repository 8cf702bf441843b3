/** The OpenAPI document: that it is one, that it says what is mounted, and that answers are compared with it. */
import { describe, expect, it } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import express from 'express'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createGateway } from '../../../src/gateway/gateway.js'
import { STATUS, type ProblemCode } from '../../../src/shared/http/problem-status.js'
import type { OpenApiDocument } from '../../../src/api/openapi/write-document.js'
import { ADMIN_TOKEN, CLOSED, OPEN, SHOP_TOKEN } from '../admin/admin.js'
import { sendRaw } from '../session/session.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'
import { listen } from '../../support/http.js'
import { OpenApiValidator, wholeDocument, type Answered } from '../../support/openapi-validator.js'
import { serveGateway, type GatewayApi, type Mounting } from '../api.js'

const PATH = '/api/v2/openapi.json'
const whole = await wholeDocument()
const toEnd = useCleanup()

const serve = async (options = OPEN, mounting: Mounting = {}): Promise<GatewayApi> => {
  return closedBy(toEnd, await serveGateway(options, mounting))
}

const documentOf = async ({ send }: GatewayApi): Promise<OpenApiDocument & Servers> =>
  (await send('GET', PATH)).body

interface Servers {
  readonly servers: readonly { readonly url: string }[]
}

/** `GET /path`, of all operations. */
const operationsOf = ({ paths }: OpenApiDocument): string[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((name) => name !== 'servers')
      .map((method) => `${method.toUpperCase()} ${path}`),
  )

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1, with everything mounted and with nothing', async () => {
    for (const options of [OPEN, CLOSED]) {
      const document = await documentOf(await serve(options))
      const validator = new Validator()
      expect(await validator.validate(structuredClone(document))).toEqual({ valid: true })
      expect(validator.version).toBe('3.1')
    }
  })

  it('fails validation after it was broken on purpose', async () => {
    const { info: _info, ...document } = await documentOf(await serve())
    expect(await new Validator().validate(document)).toMatchObject({ valid: false })
  })

  it('describes every mounted endpoint with every method, and no other', async () => {
    for (const [options, admin] of [
      [OPEN, ADMIN_TOKEN],
      [CLOSED, undefined],
    ] as const) {
      const api = await serve({ ...options, rateLimit: false })
      const mounted: string[] = []
      // Every path that there is; not all are mounted.
      for (const path of Object.keys(whole.paths)) {
        const concrete = path.replace('{version}', '2026-01-01').replaceAll(/\{\w+\}/g, 'x')
        const headers = admin === undefined ? {} : { Authorization: `Bearer ${admin}` }
        const answer = await api.send('OPTIONS', concrete, { headers })
        const methods = answer.headers.get('allow')?.split(', ') ?? []
        mounted.push(
          ...methods
            .filter((method) => method !== 'HEAD' && method !== 'OPTIONS')
            .map((method) => `${method} ${path}`),
        )
      }
      expect(mounted.length).toBeGreaterThan(20)
      expect(operationsOf(await documentOf(api)).toSorted()).toEqual(mounted.toSorted())
    }
  })

  it('has the probes at the app’s own URL once the app mounts them', async () => {
    const without = await serve(CLOSED, { prefix: '/pay' })
    expect((await documentOf(without)).paths).not.toHaveProperty('/livez')
    const gateway = createGateway(CLOSED)
    const app = express().use(gateway.healthRouter()).use('/pay', gateway.gatewayRouter())
    const server = closedBy(toEnd, await listen(app))
    toEnd.push(() => gateway.close())
    const read = await fetch(`${server.url}/pay${PATH}`)
    const document = (await read.json()) as OpenApiDocument & Servers
    expect(document.servers[0]?.url).toBe(`${server.url}/pay`)
    expect(document.paths['/livez']?.['servers']).toMatchObject([{ url: server.url }])
    const validator = new OpenApiValidator(whole)
    for (const path of ['/livez', '/readyz']) {
      const response = await fetch(server.url + path)
      const answer = { method: 'GET', path, status: response.status, type: 'application/json' }
      expect(validator.explain({ ...answer, body: await response.text() })).toBeUndefined()
    }
  })

  it('names the server as its reader knows it, and lets shared caches keep only a configured name', async () => {
    const seen = await serve(CLOSED, { prefix: '/pay' })
    expect((await documentOf(seen)).servers[0]?.url).toBe(`${seen.url}/pay`)
    expect((await seen.send('GET', PATH)).headers.get('cache-control')).toBe('private, no-cache')
    const configured = await serve({ ...CLOSED, publicUrl: 'https://pay.example' })
    expect((await documentOf(configured)).servers[0]?.url).toBe('https://pay.example')
    expect((await configured.send('GET', PATH)).headers.get('cache-control')).toBe(
      'public, max-age=300',
    )
  })

  it('is compressed for the first hosts that are asked for, and correct for any that strangers invent', async () => {
    const api = await serve()
    const ask = async (host: string) => {
      const headers = { Host: host, 'Accept-Encoding': 'gzip' }
      const { status, headers: got, body } = await sendRaw(api.url, 'GET', PATH, { headers })
      return { status, encoding: got['content-encoding'], server: body?.servers[0].url }
    }
    const { host } = new URL(api.url)
    expect(await ask(host)).toMatchObject({ status: 200, encoding: 'gzip' })
    for (let count = 0; count < 40; count++) await ask(`host-${count}.example`)
    const plain = { status: 200, encoding: undefined, server: 'http://another.example' }
    expect(await ask('another.example')).toEqual(plain)
    expect(await ask(host)).toMatchObject({ status: 200, encoding: 'gzip' })
  })

  it('is sent once to a client that keeps it, and compressed if the client accepts that', async () => {
    const api = await serve()
    const first = await api.send('GET', PATH, { headers: { 'Accept-Encoding': 'gzip' } })
    const tag = first.headers.get('etag') ?? ''
    expect(first.headers.get('content-encoding')).toBe('gzip')
    expect(tag).toMatch(/^W\/".+"$/)
    const again = await api.send('GET', PATH, { headers: { 'If-None-Match': tag } })
    expect([again.status, again.text]).toEqual([304, ''])
    const plain = await api.send('GET', PATH, { headers: { 'Accept-Encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(plain.text).toBe(first.text)
    const head = await api.send('HEAD', PATH)
    expect([head.status, head.text]).toEqual([200, ''])
  })

  it('refuses other methods and all parameters', async () => {
    const api = await serve()
    const posted = await api.send('POST', PATH)
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect((await api.send('GET', `${PATH}?format=yaml`)).status).toBe(400)
  })

  it('counts against its reader’s address even with a project’s token', async () => {
    const api = await serve({ ...OPEN, rateLimit: { limit: 2 } })
    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
    expect((await api.send('GET', PATH, { headers })).status).toBe(200)
    expect((await api.send('GET', '/api/v2/docs/', { headers })).status).not.toBe(429)
    expect((await api.send('GET', PATH)).status).toBe(429)
    expect((await api.get('/api/v2/merchant/payment-profile', headers)).status).toBe(200)
  })

  it('leaves its paths and those of the page to the app if docs are off', async () => {
    const gateway = closedBy(toEnd, createGateway(CLOSED))
    const app = express().use(gateway.gatewayRouter({ docs: false }))
    app.use((_req, res) => void res.send('the app’s own'))
    const server = closedBy(toEnd, await listen(app))
    for (const path of [PATH, '/api/v2/docs', '/api/v2/docs/assets/x.js'])
      expect(await (await fetch(server.url + path)).text()).toBe('the app’s own')
  })

  it('loads its code on the first request only', () => {
    const src = fileURLToPath(new URL('../../../src', import.meta.url))
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    const eager = files
      .filter((name) => name.endsWith('.ts') && !/\/openapi\/|(\/|^)documents(\/|\.ts)/.test(name))
      .filter((name) =>
        /^import (?!type\b)[^']*'[^']*\/(openapi\/|documents(\/|\.))[^']*'/m.test(
          readFileSync(join(src, name), 'utf8'),
        ),
      )
    expect(eager).toEqual([])
    const publisher = readFileSync(join(src, 'api/docs/document-publisher.ts'), 'utf8')
    expect(publisher).toContain("import('../openapi/write-document.js')")
  })
})

describe('what the OpenAPI document says', () => {
  const document = whole
  const operations = Object.values(document.paths).flatMap((item) =>
    Object.values(item),
  ) as readonly DescribedOperation[]

  interface DescribedOperation {
    readonly operationId: string
    readonly summary: string
    readonly description: string
    readonly requestBody?: {
      readonly content: Readonly<
        Record<string, { readonly schema: object; readonly example: object }>
      >
    }
  }

  it('names and explains each operation under an id of its own', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { summary, description } of operations) {
      expect(summary.length).toBeGreaterThan(5)
      expect(description).toMatch(/\.$/)
    }
  })

  it('asks for a token or a session everywhere below /api/v2, apart from the catalogue and the documentation', () => {
    const open = Object.entries(document.paths)
      .filter(([path]) => path.startsWith('/api/v2/'))
      .filter(([, item]) =>
        Object.values(item as Record<string, { readonly security: readonly object[] }>).some(
          ({ security }) => security.length === 0,
        ),
      )
    expect(open.map(([path]) => path)).toEqual([
      '/api/v2/payment/discovery/resources',
      '/api/v2/payment/discovery/search',
      '/api/v2/openapi.json',
      '/api/v2/docs',
      '/api/v2/docs/assets/{name}',
    ])
  })

  it('explains each member of each document', () => {
    const silent: string[] = []
    const look = (part: unknown, path: string): void => {
      if (typeof part !== 'object' || part === null) return
      const { properties } = part as { readonly properties?: Readonly<Record<string, object>> }
      for (const [name, member] of Object.entries(properties ?? {}))
        if (!('description' in member) && !('$ref' in member) && !isPart(path, name))
          silent.push(`${path}.${name}`)
      for (const [name, inner] of Object.entries(part)) look(inner, `${path}.${name}`)
    }
    look(document.components.schemas, '')
    look(document.paths, '')
    expect(silent).toEqual([])
  })

  it('has patterns that Python and JavaScript without flags read alike', () => {
    const patterns: string[] = []
    JSON.stringify(document, (name, value: unknown) => {
      if (name === 'pattern' && typeof value === 'string') patterns.push(value)
      return value
    })
    expect(patterns.length).toBeGreaterThan(10)
    for (const pattern of patterns) {
      expect(pattern).not.toMatch(/\\[pP]\{|\(\?</)
      expect(() => new RegExp(pattern)).not.toThrow()
    }
    expect(patterns.filter((pattern) => new RegExp(pattern).test('a label: ok'))).not.toEqual([])
  })

  it('states the status of each problem', () => {
    const { schemas } = document.components
    const problems = Object.entries(schemas).filter(([name]) => name.startsWith('Problem_'))
    expect(problems.length).toBeGreaterThan(30)
    for (const [, schema] of problems) {
      const { code, status } = schema['properties'] as Record<string, { const: unknown }>
      expect(status?.const).toBe(STATUS[code?.const as ProblemCode].api)
    }
  })

  it('has examples of bodies that fit their schemas', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const bodies = operations.flatMap(({ requestBody }) =>
      Object.values(requestBody?.content ?? {}),
    )
    expect(bodies.length).toBeGreaterThan(10)
    for (const { schema, example } of bodies) {
      const isValid = ajv.validate(schema, example)
      expect([ajv.errorsText(), isValid]).toEqual(['No errors', true])
    }
  })
})

/** Members of a small object without a name, such as `{ name, type }` of EIP-712, speak for themselves. */
const isPart = (path: string, name: string): boolean =>
  /PreparedRefund.*types/.test(path) ||
  (path.endsWith('available_instruments.items') && name === 'type')

describe('the comparison of answers with the document', () => {
  const validator = new OpenApiValidator(whole)
  const valid: Answered = {
    method: 'POST',
    path: '/api/v2/payment/verify',
    status: 200,
    type: 'application/json',
    body: JSON.stringify({ isValid: false, invalidReason: 'insufficient_funds', error: 'poor' }),
  }

  it('accepts an answer that is described', () => {
    expect(validator.explain(valid)).toBeUndefined()
    expect(
      validator.explain({ ...valid, method: 'OPTIONS', status: 204, body: '' }),
    ).toBeUndefined()
  })

  it.each<readonly [string, Partial<Answered>, RegExp]>([
    [
      'a member that is not described',
      { body: '{"isValid":false,"invalidReason":"insufficient_funds","error":"poor","left":1}' },
      /additional/,
    ],
    ['a member that is missing', { body: '{"isValid":false}' }, /required/],
    [
      'a reason that is unknown',
      { body: '{"isValid":false,"invalidReason":"no","error":"poor"}' },
      /allowed values/,
    ],
    ['a body that is no JSON', { body: 'ok' }, /no JSON/],
    ['another media type', { type: 'text/html' }, /is text\/html/],
    ['a status that is not described', { status: 418 }, /status 418/],
    ['a path that is not described', { path: '/api/v2/payment/capture' }, /is not described/],
    ['a method that is not described', { method: 'PATCH' }, /is not described/],
    [
      'a parameter that is taken and not described',
      { path: `${valid.path}?dry=1` },
      /parameter dry/,
    ],
    [
      'a body that is taken and not described',
      { requestBody: { paymentPayload: 1 } },
      /takes a body/,
    ],
    [
      'problem details of another status',
      { status: 400, type: 'application/problem+json', body: problem('unauthorized', 401) },
      /does not fit/,
    ],
    [
      'problem details whose status is no number',
      { status: 502, type: 'application/problem+json', body: problem('chain_refused', 'failed') },
      /does not fit/,
    ],
  ])('finds %s', (_what, difference, explanation) => {
    expect(validator.explain({ ...valid, ...difference })).toMatch(explanation)
  })
})

function problem(code: string, status: number | string): string {
  const title = 'Bad Gateway'
  return JSON.stringify({
    type: `urn:x402-gateway:problem:${code}`,
    title,
    status,
    detail: '',
    code,
  })
}
