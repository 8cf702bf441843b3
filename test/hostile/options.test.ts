import { beforeEach, describe, expect, it } from '@jest/globals'
import cors from 'cors'
import express, { type Express, type RequestHandler } from 'express'
import express4 from 'express4'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import { shopOptions, useDevnet } from '../support/devnet.js'
import { listen } from '../support/http.js'
import { useOpened } from '../support/use-opened.js'

const devnet = useDevnet()
let runs = 0
/** As method-override does it. */
const overrideMethod: RequestHandler = (req, _res, next) => {
  req.method = req.get('x-http-method-override') ?? req.method
  next()
}
const sell: RequestHandler = (_req, res) => {
  runs++
  res.send('PAID CONTENT')
}

function routes(app: Express, makeRouter: typeof express.Router, { x402Protect }: Gateway): void {
  const charge = x402Protect('$0.01')
  app.get('/get', charge, sell)
  app.all('/all', charge, sell)
  app.use('/use', charge, sell)
  app.options('/options', charge, sell)
  app.route('/route').all(charge).get(sell).post(sell)
  app.all(['/list', '/of-paths'], [charge, sell])
  const nested = makeRouter()
  nested.use(charge)
  nested.all('/item', sell)
  app.use('/nested', nested)
  const mounted = express()
  mounted.use(charge, sell)
  app.use('/mounted', mounted)
  app.use('/override-behind', charge, overrideMethod, sell)
  app.use('/override-before', overrideMethod, charge, sell)
  app.use('/upfront', x402Protect('$0.01', { paymentFlow: 'upfront' }), sell)
  app.use(
    '/dynamic',
    x402Protect(() => '$0.01'),
    sell,
  )
  app.use('/cors', cors({ origin: 'https://app.example' }), charge, sell)
  app.use('/cors-continues', cors({ preflightContinue: true }), charge, sell)
  const passes = x402Protect('$0.01', { skip: (req) => req.method === 'OPTIONS' })
  app.use('/skip', passes, sell)
}

const ANY = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

describe.each([
  ['express', express],
  ['express4', express4],
])('OPTIONS (%s)', (_name, makeApp) => {
  const gateway = useOpened(() => createGateway(shopOptions(devnet)))
  const server = useOpened(() => {
    const app = makeApp()
    routes(app, makeApp.Router, gateway)
    return listen(app)
  })
  beforeEach(() => {
    runs = 0
  })
  const ask = (path: string, headers?: Record<string, string>): Promise<Response> =>
    fetch(server.url + path, { method: 'OPTIONS', ...(headers && { headers }) })

  it.each([
    ['/all', ANY],
    ['/use', ANY],
    ['/use/deeper', ANY],
    ['/options', ANY],
    ['/route', 'GET, HEAD, POST, OPTIONS'],
    ['/list', ANY],
    ['/nested/item', ANY],
    ['/mounted', ANY],
    ['/override-behind', ANY],
    ['/upfront', ANY],
    ['/dynamic', ANY],
  ])('is answered in place of the handler: %s', async (path, allow) => {
    for (const headers of [
      {},
      { 'X-HTTP-Method-Override': 'GET' },
      { 'PAYMENT-SIGNATURE': 'e30=' },
      { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'GET' },
    ]) {
      if (path !== '/override-behind' && 'X-HTTP-Method-Override' in headers) continue
      const answer = await ask(path, headers)
      expect([answer.status, await answer.text()]).toEqual([204, ''])
      expect(answer.headers.get('allow')).toBe(allow)
    }
    expect(runs).toBe(0)
    // And any other method asks for payment.
    const get = await fetch(server.url + path, { method: path === '/options' ? 'HEAD' : 'GET' })
    expect([402, 404]).toContain(get.status)
    expect(runs).toBe(0)
  })

  it('is left to Express if the route has no handler for it', async () => {
    const answer = await ask('/get')
    expect([answer.status, answer.headers.get('allow')?.replace(',H', ', H')]).toEqual([
      200,
      'GET, HEAD',
    ])
    expect(runs).toBe(0)
  })

  it('is charged as the method that an override in front turns it into', async () => {
    const get = await ask('/override-before', { 'X-HTTP-Method-Override': 'GET' })
    expect(get.status).toBe(402)
    const options = await fetch(`${server.url}/override-before`, {
      headers: { 'X-HTTP-Method-Override': 'OPTIONS' },
    })
    expect(options.status).toBe(204)
    expect(runs).toBe(0)
  })

  it('does not disturb a cors() in front', async () => {
    const preflight = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' }
    const answered = await ask('/cors', preflight)
    expect(answered.status).toBe(204)
    expect(answered.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(answered.headers.get('allow')).toBeNull()
    const continued = await ask('/cors-continues', preflight)
    expect(continued.status).toBe(204)
    expect(continued.headers.get('access-control-allow-origin')).toBe('*')
    expect(continued.headers.get('access-control-allow-methods')).toContain('GET')
    expect(continued.headers.get('allow')).toBe(ANY)
    expect(runs).toBe(0)
  })

  it('passes if skip says so', async () => {
    expect(await (await ask('/skip')).text()).toBe('PAID CONTENT')
    expect((await fetch(`${server.url}/skip`)).status).toBe(402)
    expect(runs).toBe(1)
  })
})
