import { describe, expect, it } from '@jest/globals'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { HANDLER_VERSION } from '../../../src/api/checkouts/ucp/handler.js'
import { SHOP_TOKEN } from '../../support/devnet.js'
import { problemOf, serveGateway, type GatewayApi, type Mounting } from '../api.js'
import { useCleanup } from '../../support/cleanup.js'

const DOCUMENTS = ['schema.json', 'instrument_schema.json', 'gateway.md'] as const
const CURRENT = DOCUMENTS.map((name) => `/ucp/${name}`)
const DATED = DOCUMENTS.map((name) => `/ucp/${HANDLER_VERSION}/${name}`)

const toEnd = useCleanup()

async function open(options: GatewayOptions = {}, mounting?: Mounting): Promise<GatewayApi> {
  const api = await serveGateway(
    {
      networks: {
        'base-sepolia': { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [`0x${'5e'.repeat(32)}`] },
      },
      projects: [
        {
          id: 'shop',
          tokens: [SHOP_TOKEN],
          merchant: { payTo: '0x000000000000000000000000000000000000bEEF' },
        },
      ],
      ...options,
    },
    mounting,
  )
  toEnd.push(() => api.close())
  return api
}

describe.each([...CURRENT, ...DATED])('GET %s', (path) => {
  it('answers anybody, from a browser at any origin too', async () => {
    const api = await open()
    const answer = await api.send('GET', path, { headers: { Origin: 'https://agent.example' } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-expose-headers')).toBe('ETag')
    expect(answer.headers.get('content-type')).toBe(
      path.endsWith('.md') ? 'text/markdown; charset=utf-8' : 'application/json; charset=utf-8',
    )
    if (path.endsWith('.json')) expect(answer.body.$id).toBe(api.url + path)
  })

  it('answers the preflight of browsers', async () => {
    const answer = await (await open()).send('OPTIONS', path)
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS')
    expect(answer.headers.get('access-control-allow-headers')).toBe('*')
  })

  it('answers 304 to its ETag even if the app has ETags switched off', async () => {
    const api = await open({}, { prepare: (app) => app.set('etag', false) })
    const first = await api.send('GET', path)
    const tag = first.headers.get('etag') ?? ''
    expect(tag).toMatch(/^"[\w-]{27}"$/)
    for (const known of [tag, `"other", W/${tag}`, '*']) {
      const again = await api.send('GET', path, { headers: { 'If-None-Match': known } })
      expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', tag])
      expect(again.headers.get('access-control-allow-origin')).toBe('*')
    }
    const other = await api.send('GET', path, { headers: { 'If-None-Match': '"other"' } })
    expect([other.status, other.text]).toEqual([200, first.text])
  })

  it('may be cached for an hour, and for good under a dated path', async () => {
    const api = await open({ publicUrl: 'https://pay.example.com' })
    const { headers } = await api.send('GET', path)
    expect(headers.get('cache-control')).toBe(
      DATED.includes(path) ? 'public, max-age=31536000, immutable' : 'public, max-age=3600',
    )
  })

  it('may not be cached if the request named the root', async () => {
    const { headers } = await (await open()).send('GET', path)
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  it('answers HEAD with the same headers', async () => {
    const api = await open()
    const [got, asked] = await Promise.all([api.send('GET', path), api.send('HEAD', path)])
    expect(asked.text).toBe('')
    for (const name of ['etag', 'cache-control', 'content-type', 'content-length'])
      expect(asked.headers.get(name)).toBe(got.headers.get(name))
  })

  it('refuses all other methods', async () => {
    const answer = await (await open()).send('POST', path, { body: '{}' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })
})

describe('the dated documents', () => {
  it.each([
    '/ucp/2026-01-01/schema.json',
    '/ucp/2099-12-31/gateway.md',
    '/ucp/latest/schema.json',
    `/ucp/${HANDLER_VERSION}`,
    `/ucp/${HANDLER_VERSION}/other.json`,
    `/ucp/${HANDLER_VERSION}/${HANDLER_VERSION}/schema.json`,
  ])('do not exist at %s', async (path) => {
    const answer = await (await open()).send('GET', path)
    expect(answer.status).toBe(404)
    expect(answer.body).toStrictEqual(problemOf(404, 'not_found', 'Not Found'))
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  })

  it('name the existing version if another one is asked for', async () => {
    const answer = await (await open()).send('GET', '/ucp/2026-01-01/schema.json')
    expect(answer.body.detail).toContain(HANDLER_VERSION)
  })

  it('equal the current ones, apart from their own addresses', async () => {
    const api = await open()
    const current = await api.send('GET', '/ucp/schema.json')
    const dated = await api.send('GET', `/ucp/${HANDLER_VERSION}/schema.json`)
    const underCurrent = dated.text.replaceAll(`/ucp/${HANDLER_VERSION}/`, '/ucp/')
    expect(JSON.parse(underCurrent)).toEqual(current.body)
    expect(dated.headers.get('etag')).not.toBe(current.headers.get('etag'))
    const [one, other] = await Promise.all(
      ['', `${HANDLER_VERSION}/`].map((folder) => api.send('GET', `/ucp/${folder}gateway.md`)),
    )
    expect(one?.text).toBe(other?.text)
  })
})

describe('the documents of several roots', () => {
  it('each name their own root', async () => {
    const api = await open({}, { prepare: (app) => app.set('trust proxy', 'loopback') })
    for (const host of ['one.example', 'two.example', 'one.example']) {
      const headers = { 'X-Forwarded-Host': host, 'X-Forwarded-Proto': 'https' }
      const { body } = await api.send('GET', '/ucp/schema.json', { headers })
      expect(body.$id).toBe(`https://${host}/ucp/schema.json`)
    }
  })

  it('follow the prefix', async () => {
    const api = await open({}, { prefix: '/pay' })
    const { body } = await api.send('GET', `/ucp/${HANDLER_VERSION}/schema.json`)
    expect(body.$id).toBe(`${api.url}/pay/ucp/${HANDLER_VERSION}/schema.json`)
  })
})

describe('a handler that platforms would refuse for its name', () => {
  const warnings = ({ log }: GatewayApi): readonly string[] =>
    log.lines.filter((line) => line.startsWith('warn'))

  it('is warned of once when it is first shown', async () => {
    const api = await open({ publicUrl: 'https://pay.example.com' })
    await api.get('/api/v2/payment/supported')
    expect(warnings(api)).toEqual([])
    for (const path of ['/ucp/gateway.md', '/api/v2/merchant/payment-profile', '/ucp/schema.json'])
      expect((await api.get(path)).status).toBe(200)
    expect(warnings(api)).toEqual([expect.stringContaining("'xyz.vendor.gateway_payment'")])
  })

  it('is judged by ucp.docsUrl if that is set', async () => {
    const ucp = { docsUrl: 'https://vendor.xyz/docs' }
    const api = await open({ publicUrl: 'https://pay.example.com', ucp })
    await api.get('/api/v2/merchant/payment-profile')
    expect(warnings(api)).toEqual([])
  })

  it('is not warned of if only a request named the root', async () => {
    const api = await open({}, { prepare: (app) => app.set('trust proxy', 'loopback') })
    const headers = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' }
    await api.send('GET', '/ucp/schema.json', { headers })
    expect(warnings(api)).toEqual([])
  })
})
