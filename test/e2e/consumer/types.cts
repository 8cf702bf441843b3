import type { Request, Response } from 'express'
import express = require('express')
import gateway = require('express-x402-gateway')
import devnet = require('express-x402-gateway/devnet')
import mcp = require('express-x402-gateway/mcp')
import sql = require('express-x402-gateway/sql')
import testing = require('express-x402-gateway/testing')

const app = express()
app.get('/weather', gateway.x402Protect('$0.01'), (req: Request, res: Response) => {
  const payer: string = gateway.paidRequest(req).payer
  // @ts-expect-error -- `skip` may have let the request pass unpaid
  const perhaps: string = req.x402.payer
  res.json({ paidBy: payer, perhaps })
})
app.use(gateway.gatewayRouter())

export async function open(): Promise<void> {
  const { rpcUrl, relayerKeys } = await devnet.startDevnet()
  const own = gateway.createGateway({ networks: { base: { rpcUrl, relayerKeys } } })
  app.get('/other', own.x402Protect(0.01), (_req: Request, res: Response) => void res.send('other'))
  await own.close()
  await gateway.createGateway({ ledger: sql.sqliteLedger('ledger.db') }).close()
  const shop = await testing.startTestShop(({ x402Protect }) => app.use(x402Protect('$1')))
  await shop.close()
  // @ts-expect-error -- a price is not a boolean
  gateway.x402Protect(true)
}
export const tool = (server: mcp.ToolServer): unknown =>
  mcp.paidTool(server, 'forecast', { price: '$0.01' }, () => ({ content: [] }))
