import express from 'express'
import type * as Package from '../../../dist/esm/index.js'
import type * as Sql from '../../../dist/esm/sql.js'
import { FREE, GOODS, PAID, PRICE, TOKEN, type ServerApp } from './setup.js'
import { countStatements } from './statements.js'

const OWN_ENTRY = new URL('../../../dist/esm/index.js', import.meta.url).href

/** Our own stack, as it is published: one gateway in the app. */
export const ours: ServerApp = async ({
  rpcUrl,
  relayerKeys,
  payTo,
  entry = OWN_ENTRY,
  ledger,
  metrics = false,
  publicUrl,
}) => {
  const { createGateway } = (await import(entry)) as typeof Package
  const gateway = createGateway({
    networks: { 'base-sepolia': { rpcUrl, relayerKeys } },
    projects: [{ id: 'shop', tokens: [TOKEN], merchant: { payTo } }],
    rateLimit: false,
    metrics,
    ...(publicUrl !== undefined && { publicUrl }),
    ...(ledger !== undefined && { ledger: await openLedger(entry, ledger) }),
  })
  const app = express()
  app.get(PAID, gateway.x402Protect(PRICE), (_req, res) => void res.json(GOODS))
  app.get(FREE, (_req, res) => void res.json(GOODS))
  app.use(gateway.gatewayRouter())
  return app
}

async function openLedger(entry: string, location: string) {
  countStatements(entry)
  const { postgresLedger, sqliteLedger } = (await import(
    new URL('sql.js', entry).href
  )) as typeof Sql
  return location.startsWith('postgres') ? postgresLedger(location) : sqliteLedger(location)
}
