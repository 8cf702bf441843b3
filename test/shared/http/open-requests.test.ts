import { describe, expect, it } from '@jest/globals'
import express, { type Response } from 'express'
import { createGateway } from '../../../src/gateway/gateway.js'
import { paymentHeader, listen } from '../../support/http.js'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { offerOf } from '../../support/core.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'

const devnet = useDevnet()
const cleanups = useCleanup()

async function openShop(rpcUrl = devnet.rpcUrl) {
  const networks = { 'base-sepolia': { rpcUrl, relayerKeys: devnet.relayerKeys } }
  const gateway = createGateway(shopOptions(devnet, { networks }))
  const app = express()
  const responses: Response[] = []
  app.use((_req, res, next) => {
    responses.push(res)
    next()
  })
  const upfront = gateway.x402Protect('$0.01', { paymentFlow: 'upfront' })
  app.get('/stream', upfront, (_req, res) => void res.json({ sold: true }))
  app.get('/paid', gateway.x402Protect('$0.01'), (_req, res) => void res.json({ sold: true }))
  app.get(
    '/member',
    gateway.x402Protect('$0.01', { skip: () => true }),
    (_req, res) => void res.json({ free: true }),
  )
  app.use(gateway.gatewayRouter())
  const server = closedBy(cleanups, await listen(app))
  return { gateway, url: server.url, responses }
}

describe('a gateway that is closed', () => {
  it('closes once, however often close is called', async () => {
    const { gateway } = await openShop()
    const closed = gateway.close()
    expect(gateway.close({ timeoutMs: 1 })).toBe(closed)
    await closed
  })

  it('refuses paid and API requests with 503 and Retry-After, and serves free ones', async () => {
    const { gateway, url } = await openShop()
    await gateway.close()
    const payment = await signPayment(devnet.payers[0]!, offerOf(devnet))
    const answers = await Promise.all([
      fetch(`${url}/paid`, { headers: paymentHeader(payment) }),
      fetch(`${url}/paid`),
      fetch(`${url}/api/v2/payment/supported`, {
        headers: { 'x-project-identify-token': SHOP_TOKEN },
      }),
    ])
    for (const answer of answers) {
      expect(answer.status).toBe(503)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.headers.get('connection')).toBe('close')
      expect(answer.headers.has('payment-response')).toBe(false)
      expect(await answer.json()).toMatchObject({ code: 'shutting_down' })
    }
    expect((await fetch(`${url}/member`)).status).toBe(200)
  })

  it('answers everybody before it is closed, though the node does not answer', async () => {
    const proxy = closedBy(cleanups, await startRpcProxy(devnet.rpcUrl))
    const { gateway, url, responses } = await openShop(proxy.url)
    const payments = await Promise.all(
      [0, 1, 2, 3].map((index) => signPayment(devnet.payers[index]!, offerOf(devnet))),
    )
    const [paid, streamed, settled, verified] = payments
    let letGo = (): void => undefined
    const isOver = new Promise<undefined>((resolve) => (letGo = () => resolve(undefined)))
    cleanups.push(async () => letGo())
    let asked = 0
    proxy.fault = async (method) => {
      if (method !== 'eth_call') return undefined
      asked += 1
      return isOver
    }
    const settling = { paymentPayload: settled, paymentRequirements: offerOf(devnet) }
    const answering = [
      fetch(`${url}/paid`, { headers: paymentHeader(paid!) }),
      fetch(`${url}/stream`, { headers: paymentHeader(streamed!) }),
      fetch(`${url}/api/v2/payment/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-project-identify-token': SHOP_TOKEN },
        body: JSON.stringify(settling),
      }),
    ]
    const verifying = gateway.facilitator.verify(verified!, offerOf(devnet))
    const failing = verifying.catch((error: unknown) => error)
    await until(() => responses.length >= 3 && asked > 0)
    await gateway.close({ timeoutMs: 0 })
    expect(responses.map((res) => res.writableEnded)).toEqual([true, true, true])
    const answers = await Promise.all(answering)
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 502])
    for (const answer of answers) {
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await answer.json()).toMatchObject({ code: 'chain_unreachable' })
    }
    expect(await failing).toMatchObject({ code: 'chain_unreachable' })
  })
})
