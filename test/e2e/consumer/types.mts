import express from 'express'
import {
  createGateway,
  gatewayRouter,
  httpFacilitator,
  paidRequest,
  x402Protect,
  type GatewayOptions,
} from 'express-x402-gateway'
import { startDevnet, type Devnet } from 'express-x402-gateway/devnet'
import { paidTool, type ToolServer } from 'express-x402-gateway/mcp'
import { postgresLedger, sqliteLedger, type PostgresPool } from 'express-x402-gateway/sql'
import { startTestShop, type TestShop } from 'express-x402-gateway/testing'

export const app = express()
app.get('/weather', x402Protect('$0.01'), (req, res) => {
  const payer: string | undefined = req.x402?.payer
  res.json({ paidBy: payer })
})
app.get(
  '/report',
  x402Protect((req) => ({ amount: String(Number(req.query['price'])), currency: 'EUR' }), {
    description: 'A report',
    paymentFlow: 'upfront',
    skip: (req) => req.get('x-api-key') === 'member',
  }),
  (req, res) => void res.send(paidRequest(req).transaction),
)
app.use(gatewayRouter())

export async function open(): Promise<void> {
  const devnet: Devnet = await startDevnet()
  const options: GatewayOptions = {
    networks: { 'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys } },
    projects: [{ id: 'acme', merchant: { payTo: devnet.merchant.address } }],
    rates: { 'EUR/USD': '1.08' },
  }
  const gateway = createGateway(options)
  gateway.on('settled', ({ transaction, amount }) => console.log(transaction, amount))
  app.get('/other', gateway.x402Protect({ amount: '0.01', currency: 'EUR' }), (_req, res) => {
    res.send('other')
  })
  app.use('/pay', gateway.gatewayRouter())
  await gateway.close()
  createGateway({ facilitator: httpFacilitator({ url: 'https://pay.example.com', token: 't' }) })
  // @ts-expect-error -- there is no such option
  createGateway({ network: 'base' })
  // @ts-expect-error -- a price is not a boolean
  x402Protect(true)
}

export async function test(): Promise<void> {
  const shop: TestShop = await startTestShop(app)
  const { settlement } = await shop.buy('/weather')
  const transaction: string = settlement.transaction
  console.log(transaction)
  const refused = await shop.buy('/weather', { expect: 402 })
  // @ts-expect-error -- a response that is expected to be a refusal may have no settlement
  console.log(refused.settlement.transaction)
  await startTestShop((gateway) => express().use(gateway.gatewayRouter()), { rates: {} })
  await startTestShop(() => import('./types.mjs'))
  // @ts-expect-error -- the chain is the test kit's
  await startTestShop(app, { networks: {} })
  // @ts-expect-error -- there is no such failure
  shop.failNext('bad_luck')
  await shop.close()
}

export function ledgers(pool: PostgresPool): readonly GatewayOptions[] {
  // @ts-expect-error -- a pool has `connect` and `end`
  postgresLedger({ query: () => undefined })
  return [postgresLedger(pool), sqliteLedger('ledger.db')].map((ledger) => ({ ledger }))
}
export const tool = (server: ToolServer): unknown =>
  paidTool(server, 'forecast', { price: '$0.01' }, () => ({ content: [] }))
