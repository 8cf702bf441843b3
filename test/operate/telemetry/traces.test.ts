import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import { context, trace } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import { createGateway } from '../../../src/gateway/gateway.js'
import { useDevnet } from '../../support/devnet.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { openShop } from '../../support/shop.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useDevnet()
const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const shop = useOpened(() => {
  trace.setGlobalTracerProvider(provider)
  return openShop(
    devnet,
    (app, gateway) => {
      app.get('/', gateway.x402Protect('$0.01'), (_req, res) => void res.send('sold'))
      app.get('/free', gateway.x402Protect('$0.01'), (_req, res) => void res.status(404).end())
    },
    { traces: true },
  )
})
afterEach(() => exporter.reset())
afterAll(async () => {
  await provider.shutdown()
  trace.disable()
  context.disable()
})

/** The spans of one payment: its own, and its phases in the order in which they began. */
function spansOf(spans: readonly ReadableSpan[]) {
  const own = spans.filter(({ name }) => name === 'x402 payment')
  expect(own).toHaveLength(1)
  const [payment] = own
  const children = spans.filter(
    ({ parentSpanContext }) => parentSpanContext?.spanId === payment!.spanContext().spanId,
  )
  expect(children).toHaveLength(spans.length - 1)
  return { payment: payment!, phases: children.map(({ name }) => name).toSorted() }
}

describe('traces', () => {
  it('have one span for a payment, with its phases and without secrets', async () => {
    const signed = await shop.sign('/', devnet.payers[0]!)
    expect((await shop.pay('/', signed)).status).toBe(200)
    const { payment, phases } = spansOf(exporter.getFinishedSpans())
    expect(phases).toStrictEqual(
      ['confirm', 'deliver', 'handler', 'reserve', 'settle', 'verify'].map(
        (name) => `x402 ${name}`,
      ),
    )
    expect(payment.attributes).toMatchObject({
      'x402.outcome': 'settled',
      'x402.network': 'eip155:84532',
      'x402.amount': '10000',
      'x402.project': 'shop',
      'x402.payment': expect.stringMatching(/^[0-9a-f]{32}$/),
      'x402.transaction': expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    const { signature } = signed.payload as unknown as { signature: string }
    expect(JSON.stringify(payment.attributes)).not.toContain(signature.slice(2, 60))
  })

  it('say why a payment was refused', async () => {
    const signed = await shop.sign('/', devnet.payers[1]!)
    expect((await shop.pay('/', signed)).status).toBe(200)
    exporter.reset()
    expect((await shop.pay('/', signed)).status).toBe(402)
    const { payment } = spansOf(exporter.getFinishedSpans())
    expect(payment.attributes).toMatchObject({
      'x402.outcome': 'not_settled',
      'x402.reason': 'invalid_exact_evm_nonce_already_used',
    })
  })

  it('say that nothing was charged', async () => {
    expect((await shop.buy('/free', devnet.payers[2]!)).status).toBe(404)
    const { payment, phases } = spansOf(exporter.getFinishedSpans())
    expect(payment.attributes).toMatchObject({ 'x402.outcome': 'released' })
    expect(phases).toStrictEqual(['x402 handler', 'x402 reserve', 'x402 verify'])
  })

  it('name the outside failure that prevented a payment', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const networks = {
      'base-sepolia': { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys.slice(0, 1) },
    }
    const away = await openShop(
      devnet,
      (app, gateway) => {
        app.get('/', gateway.x402Protect('$0.01'), (_req, res) => void res.send('sold'))
      },
      { traces: true, networks },
    )
    try {
      const signed = await away.sign('/', devnet.payers[3]!)
      await proxy.close()
      expect((await away.pay('/', signed)).status).toBe(503)
      const { payment } = spansOf(exporter.getFinishedSpans())
      expect(payment.attributes).toMatchObject({
        'x402.outcome': 'error',
        'error.type': 'chain_unreachable',
      })
      expect(JSON.stringify(payment.attributes)).not.toContain('secret')
    } finally {
      await away.close()
    }
  })

  it('are off by default', async () => {
    const gateway = createGateway({})
    await gateway.close()
    expect(exporter.getFinishedSpans()).toStrictEqual([])
  })
})
