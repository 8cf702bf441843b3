/** The example's shop, as scanners and catalogues of others see it. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import {
  checkL2ForOpenAPI,
  checkL4ForOpenAPI,
  discoverOriginSchema,
  getL3ForOpenAPI,
  getL3ForProbe,
  getOpenAPI,
  getProbe,
  getWarningsForL2,
  getWarningsForL3,
  getWarningsForL4,
  getWarningsForOpenAPI,
  isOpenApiParseFailure,
  type OpenApiSource,
} from '@agentcash/discovery'
import { Validator } from '@seriousme/openapi-schema-validator'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { withBazaar } from '@x402/extensions/bazaar'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { validate as validateOpenApi } from 'mppx-0.11/discovery'
import { payingFetch } from '../../../example-app/buy.js'
import { gatewayOptions } from '../../../example-app/gateway.js'
import { SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { openExampleShop } from '../../support/example-shop.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useDevnet()
const shop = useOpened(() => {
  const { projects = [] } = gatewayOptions(devnet, '')
  return openExampleShop(devnet, {
    projects: projects.map((one) => ({ ...one, tokens: [`${SHOP_TOKEN}-${one.id}`] })),
  })
})

/** Every route of the shop, by its path in OpenAPI, with a request that buys it. */
const ROUTES = {
  '/weather': '/weather',
  '/headlines': '/headlines?words=7',
  '/museum': '/museum',
  '/story': '/story',
  '/poster': '/poster',
  '/essay': '/essay',
  '/report': '/report',
  '/market/{stall}': '/market/bakery',
} as const
const PATHS = Object.keys(ROUTES) as (keyof typeof ROUTES)[]

const openApi = async (): Promise<OpenApiSource> => {
  const found = await getOpenAPI(shop.url)
  const source = found.isOk() ? found.value : null
  if (source === null || isOpenApiParseFailure(source)) throw new Error('There is no document.')
  return source
}

describe('@agentcash/discovery', () => {
  it('finds every route, with its price', async () => {
    const found = await discoverOriginSchema({ target: shop.url })
    if (!found.found) throw new Error(found.cause)
    expect(
      found.endpoints.map(({ path, authMode, price, protocols }) => ({
        ...{ path, authMode, price, protocols },
      })),
    ).toEqual(
      [
        ['/weather', '0.01 USD'],
        ['/headlines', 'from 0 USD'],
        ['/museum', '0.50 EUR'],
        ['/story', '0.05 USD'],
        ['/poster', '0.10 USD'],
        ['/essay', '0.02 USD'],
        ['/report', '0.25 USD'],
        ['/market/{stall}', '0.03 USD'],
      ].map(([path, price]) => ({ path, authMode: 'paid', price, protocols: ['x402'] })),
    )
  })

  it('has no finding about the document, its routes and its guidance', async () => {
    const source = await openApi()
    expect(getWarningsForOpenAPI(source)).toEqual([])
    expect(getWarningsForL2(checkL2ForOpenAPI(source))).toEqual([])
    expect(getWarningsForL4(checkL4ForOpenAPI(source))).toEqual([])
    for (const path of PATHS)
      expect(getWarningsForL3(getL3ForOpenAPI(source, path, 'GET'))).toEqual([])
  })

  it.each(PATHS)('has no finding about the 402 of %s', async (path) => {
    const url = new URL(ROUTES[path], shop.url)
    const probe = await getProbe(url.href)
    if (probe.isErr()) throw new Error(probe.error.message)
    const answer = getL3ForProbe(probe.value, url.pathname, 'GET', await openApi())
    expect(answer?.paymentOptions?.length).toBeGreaterThan(0)
    expect(getWarningsForL3(answer)).toEqual([])
  })
})

describe('mppx validate', () => {
  it('accepts the document', async () => {
    const { raw } = await openApi()
    expect(validateOpenApi(raw)).toEqual([])
  })

  it('finds every route, and no failure', async () => {
    const bin = fileURLToPath(
      new URL('../../../node_modules/mppx-0.11/dist/bin.js', import.meta.url),
    )
    const command = [bin, 'validate', shop.url, '--output-json']
    const { stdout } = await promisify(execFile)(process.execPath, command)
    const { endpoints, summary, discovery } = JSON.parse(stdout) as MppValidation
    expect(discovery.checks.filter(({ severity }) => severity !== 'pass')).toEqual([])
    expect(endpoints.map(({ path }) => path)).toEqual(PATHS)
    expect(summary).toMatchObject({ failed: 0, warnings: 0, suggested: 0 })
    for (const { challenge } of endpoints)
      expect(challenge[0]).toMatchObject({
        ...{ label: 'Returns 402 without credentials', severity: 'pass' },
      })
  })
})

/** What the command prints. */
interface MppValidation {
  readonly discovery: { readonly checks: readonly { readonly severity: string }[] }
  readonly endpoints: readonly {
    readonly path: string
    readonly challenge: readonly { readonly label: string; readonly severity: string }[]
  }[]
  readonly summary: Readonly<Record<string, number>>
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const document = (await openApi()).raw as object
    expect(await new Validator().validate(structuredClone(document) as never)).toEqual({
      valid: true,
    })
  })

  it.each(PATHS)('describes every answer of %s', async (path) => {
    const { raw } = await openApi()
    const ajv = new Ajv2020({ strict: false }).addSchema(raw, 'openapi')
    const check = async (response: Response): Promise<void> => {
      const type = response.headers.get('content-type')?.split(';')[0] ?? ''
      const steps = ['paths', path, 'get', 'responses', response.status, 'content', type, 'schema']
      const pointer = steps.map((one) => String(one).replaceAll('/', '~1')).join('/')
      const validate = ajv.getSchema(`openapi#/${encodeURI(pointer)}`)
      if (validate === undefined) throw new Error(`${pointer} is not described.`)
      const text = await response.text()
      const body: unknown = type.includes('json') ? JSON.parse(text) : text
      expect([response.status, validate(body), validate.errors]).toEqual([
        response.status,
        true,
        null,
      ])
    }
    const url = shop.url + ROUTES[path]
    const statuses = [await fetch(url), await payingFetch(devnet.payers[0]!.privateKey)(url)]
    for (const response of statuses) await check(response)
    expect(statuses.map(({ status }) => status)).toEqual([402, 200])
    if (path === '/headlines') await check(await fetch(`${shop.url}/headlines?words=-1`))
    if (path === '/market/{stall}') await check(await fetch(`${shop.url}/market/nobody`))
  })
})

describe('the catalogue', () => {
  it('lists and finds what was sold a moment ago, by the official client', async () => {
    const { bazaar } = withBazaar(new HTTPFacilitatorClient({ url: shop.url })).extensions
    await payingFetch(devnet.payers[1]!.privateKey)(`${shop.url}/museum`)
    const { items, pagination } = await bazaar.listResources({ type: 'http' })
    expect(pagination.total).toBe(items.length)
    expect(items.find(({ resource }) => resource === `${shop.url}/museum`)).toMatchObject({
      ...{ type: 'http', description: 'One visitor, today' },
      accepts: [{ network: 'eip155:84532', payTo: devnet.merchant.address }],
      extensions: { bazaar: { info: { input: { type: 'http', method: 'GET' } } } },
    })
    const { resources } = await bazaar.search({ query: 'visitor today' })
    expect(resources.map(({ resource }) => resource)).toEqual([`${shop.url}/museum`])
    expect((await bazaar.search({ query: 'no such thing' })).resources).toEqual([])
  })

  it('lists a route by its path, not by what one buyer asked for', async () => {
    const { bazaar } = withBazaar(
      new HTTPFacilitatorClient({ url: `${shop.url}/api/v2/payment` }),
    ).extensions
    await payingFetch(devnet.payers[2]!.privateKey)(`${shop.url}/market/bakery?secret=1`)
    const { resources } = await bazaar.search({ query: 'market' })
    expect(resources.map(({ resource }) => resource)).toEqual([`${shop.url}/market/:stall`])
  })
})

describe('/llms.txt and /.well-known/x402', () => {
  it('list every route', async () => {
    const text = await (await fetch(`${shop.url}/llms.txt`)).text()
    for (const path of PATHS) expect(text).toContain(`GET ${shop.url}${path}\``)
    const known = await (await fetch(`${shop.url}/.well-known/x402`)).json()
    const paths = PATHS.map((path) => path.replace('{stall}', 'bakery'))
    const resources = paths.map((path) => shop.url + path)
    expect(known).toEqual({ version: 1, x402Version: 2, resources })
  })
})
