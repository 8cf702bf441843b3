import { afterEach, describe, expect, it } from '@jest/globals'
import { shopOptions, useDevnet } from '../../support/devnet.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { signPayment } from '../../support/sign-payment.js'
import { serveGateway, type GatewayApi } from '../api.js'

const devnet = useDevnet()
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const SUPPORTED = '/api/v2/payment/supported'
const NOWHERE = '/api/v2/payment/nowhere'
let api: GatewayApi
afterEach(() => api.close())

const open = async (...[mounting]: [Parameters<typeof serveGateway>[1]?]): Promise<void> => {
  api = await serveGateway(shopOptions(devnet), mounting)
}

describe('the id of a request', () => {
  it('is in every response, and in problem details', async () => {
    await open()
    const fine = await api.get(SUPPORTED)
    expect(fine.headers.get('x-request-id')).toMatch(UUID)
    expect(JSON.stringify(fine.body)).not.toContain('requestId')
    const problem = await api.get(NOWHERE)
    expect(problem.headers.get('x-request-id')).toMatch(UUID)
    expect(problem.body.requestId).toBe(problem.headers.get('x-request-id'))
    expect(problem.body.requestId).not.toBe(fine.headers.get('x-request-id'))
  })

  it('is taken only from a trusted proxy', async () => {
    await open()
    const given = { 'X-Request-Id': 'proxy-4711' }
    expect((await api.get(SUPPORTED, given)).headers.get('x-request-id')).toMatch(UUID)
    await api.close()
    await open({ prepare: (app) => app.set('trust proxy', 'loopback') })
    expect((await api.get(NOWHERE, given)).body.requestId).toBe('proxy-4711')
  })

  it.each(['x'.repeat(129), 'with space', 'ümlaut', '"><script>'.repeat(20)])(
    'is replaced if a proxy lets through %s',
    async (id) => {
      await open({ prepare: (app) => app.set('trust proxy', 'loopback') })
      const headers = { 'X-Request-Id': Buffer.from(id, 'utf8').toString('latin1') }
      expect((await api.get(SUPPORTED, headers)).headers.get('x-request-id')).toMatch(UUID)
    },
  )

  it('is the one that the app has given to the request', async () => {
    await open({
      prepare: (app) =>
        app.use((req, _res, next) => {
          Object.assign(req, { id: 'app-1' })
          next()
        }),
    })
    expect((await api.get(NOWHERE)).body.requestId).toBe('app-1')
  })

  it('is in the log line of a failure, with path, project, network and payment', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const settings = { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys }
    api = await serveGateway(shopOptions(devnet, { networks: { 'base-sepolia': settings } }))
    await proxy.close()
    const requirements = {
      ...{ scheme: 'exact', network: 'eip155:84532', amount: '10000', asset: devnet.asset },
      ...{ payTo: devnet.merchant.address, maxTimeoutSeconds: 300 },
      extra: { name: 'USDC', version: '2' },
    }
    const paymentPayload = await signPayment(devnet.payers[0]!, requirements)
    const body = { x402Version: 2, paymentPayload, paymentRequirements: requirements }
    const answer = await api.post('/api/v2/payment/settle?secret=1', body)
    expect(answer.status).toBe(502)
    const line = api.log.lines.find((one) => one.includes('A gateway request failed: '))!
    const fields = JSON.parse(line.slice(line.indexOf('{'))) as object
    expect(fields).toMatchObject({
      code: 'chain_unreachable',
      requestId: answer.headers.get('x-request-id'),
      method: 'POST',
      path: '/api/v2/payment/settle',
      project: 'shop',
      network: 'eip155:84532',
      payment: expect.stringMatching(/^[0-9a-f]{32}$/),
      error: { code: 'chain_unreachable', name: 'ChainError' },
    })
    expect(line).not.toMatch(/secret/)
  })
})
