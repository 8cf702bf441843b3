import express from 'express'
import type * as Package from '../../../dist/esm/index.js'
import type * as Sql from '../../../dist/esm/sql.js'
import {
  CHARGE,
  FREE,
  GOODS,
  PAID,
  PRICE,
  TOKEN,
  TOKEN_DOMAIN,
  WARM_UP,
  type ServerApp,
  type ServerSetup,
  type WarmUpChain,
} from './setup.js'
import { countStatements } from './statements.js'

const OWN_ENTRY = new URL('../../../dist/esm/index.js', import.meta.url).href

/** Our own stack, as it is published: one gateway in the app. */
export const ours: ServerApp = async ({
  rpcUrl,
  relayerKeys,
  payTo,
  pays = 'erc3009',
  warmUpChain,
  entry = OWN_ENTRY,
  ledger,
  metrics = false,
  publicUrl,
}) => {
  const { createGateway, paidRequest } = (await import(entry)) as typeof Package
  const gateway = createGateway({
    networks: {
      'base-sepolia': {
        rpcUrl,
        relayerKeys,
        ...(pays === 'permit2' && { assets: [BY_PERMIT2] }),
        ...(pays === 'upto' && { executor: true }),
      },
      ...(warmUpChain && { [WARM_UP.name]: warmUpNetwork(warmUpChain, { relayerKeys, pays }) }),
    },
    projects: [
      {
        ...{ id: 'shop', tokens: [TOKEN] },
        merchant: { payTo, ...(warmUpChain && { accepts: ACCEPTS_BOTH }) },
      },
    ],
    rateLimit: false,
    metrics,
    ...(publicUrl !== undefined && { publicUrl }),
    ...(ledger !== undefined && { ledger: await openLedger(entry, ledger) }),
  })
  const app = express()
  if (pays === 'upto')
    app.get(PAID, gateway.x402Protect({ upTo: PRICE }), (req, res) => {
      paidRequest(req).charge(CHARGE)
      res.json(GOODS)
    })
  else app.get(PAID, gateway.x402Protect(PRICE), (_req, res) => void res.json(GOODS))
  app.get(FREE, (_req, res) => void res.json(GOODS))
  app.use(gateway.gatewayRouter())
  return app
}

/** Without `eip712`, the token is taken by Permit2 alone. */
const BY_PERMIT2 = {
  address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  symbol: 'USDC',
  decimals: 6,
  currency: 'USD',
}

const ACCEPTS_BOTH = [
  { network: 'base-sepolia', asset: 'USDC' },
  { network: WARM_UP.name, asset: 'WARM' },
]

/** It has the measured chain's token, at the same address. */
const warmUpNetwork = (
  { rpcUrl, asset: address }: WarmUpChain,
  { relayerKeys, pays }: Required<Pick<ServerSetup, 'relayerKeys' | 'pays'>>,
) => ({
  rpcUrl,
  relayerKeys,
  assets: [
    {
      ...{ address, symbol: 'WARM', decimals: 6, currency: 'USD' },
      ...(pays !== 'permit2' && { eip712: TOKEN_DOMAIN }),
    },
  ],
  ...(pays === 'upto' && { executor: true }),
})

async function openLedger(entry: string, location: string) {
  countStatements(entry)
  const { postgresLedger, sqliteLedger } = (await import(
    new URL('sql.js', entry).href
  )) as typeof Sql
  return location.startsWith('postgres') ? postgresLedger(location) : sqliteLedger(location)
}
