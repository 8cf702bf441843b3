// A shop in a project of its own: everything comes from what is installed there.
import express from 'express'
import { createGateway } from 'express-x402-gateway'
import { postgresLedger, sqliteLedger } from 'express-x402-gateway/sql'

const { LEDGER, RPC_URL, RELAYER_KEY, PAY_TO } = process.env
const openLedger = () => {
  if (LEDGER === 'memory') return {}
  return { ledger: LEDGER.startsWith('postgres:') ? postgresLedger(LEDGER) : sqliteLedger(LEDGER) }
}
const gateway = createGateway({
  networks: { 'base-sepolia': { rpcUrl: RPC_URL, relayerKeys: [RELAYER_KEY] } },
  projects: [{ id: 'shop', merchant: { payTo: PAY_TO } }],
  ...openLedger(),
})
const app = express()
app.get('/paid', gateway.x402Protect('$0.01'), (_req, res) => res.send('paid'))
const server = app.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
)
