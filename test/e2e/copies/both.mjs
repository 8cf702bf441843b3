// Loads the package twice, as an ES module and as CommonJS, as apps of mixed modules do.
import { createRequire } from 'node:module'
import express from 'express'

const require = createRequire(import.meta.url)
const esm = await import('express-x402-gateway')
const cjs = require('express-x402-gateway')
const sql = require('express-x402-gateway/sql')

const app = express()
const handler = (_req, res) => res.send('paid')
app.get('/esm', esm.x402Protect('$0.01'), handler)
app.get('/cjs', cjs.x402Protect('$0.01'), handler)
app.use(cjs.gatewayRouter())

// A ledger of the other copy, in a database that does not answer.
const gateway = esm.createGateway({
  networks: { 'base-sepolia': {} },
  projects: [{ id: 'shop', merchant: { payTo: process.env.X402_PAY_TO } }],
  facilitator: {
    verify: async () => ({ isValid: true, payer: '' }),
    settle: async () => ({ success: false, errorReason: 'x', transaction: '', network: '' }),
    supported: async () => ({ kinds: [], extensions: [], signers: {} }),
  },
  ledger: sql.postgresLedger('postgres://127.0.0.1:9/none'),
  quoteSecret: 'x'.repeat(32),
})
app.get('/unkept', gateway.x402Protect('$0.01'), handler)

const server = app.listen(0, '127.0.0.1', () => {
  process.send({ port: server.address().port, isTwice: esm.x402Protect !== cjs.x402Protect })
})
