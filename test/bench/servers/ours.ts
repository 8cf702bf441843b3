import express from 'express'
import { createGateway } from '../../../dist/esm/index.js'
import { FREE, GOODS, PAID, PRICE, TOKEN, type ServerApp } from './setup.js'

/** Our own stack, as it is published: one gateway in the app, its ledger in memory. */
export const ours: ServerApp = async ({ rpcUrl, relayerKeys, payTo }) => {
  const gateway = createGateway({
    networks: { 'base-sepolia': { rpcUrl, relayerKeys } },
    projects: [{ id: 'shop', tokens: [TOKEN], merchant: { payTo } }],
    rateLimit: false,
  })
  const app = express()
  app.get(PAID, gateway.x402Protect(PRICE), (_req, res) => void res.json(GOODS))
  app.get(FREE, (_req, res) => void res.json(GOODS))
  app.use(gateway.gatewayRouter())
  return app
}
