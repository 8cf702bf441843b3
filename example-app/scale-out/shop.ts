/** A shop of which several run side by side, on one database. Its settings are `X402_*` variables. */
import type { AddressInfo } from 'node:net'
import express from 'express'
import { defaultGateway, x402Protect } from 'express-x402-gateway'

const { PORT = '4021', HOST = '127.0.0.1' } = process.env

const app = express()
// The load balancer stands in a private network.
app.set('trust proxy', 'loopback, uniquelocal')
app.get('/weather', x402Protect('$0.01'), (_req, res) => {
  res.json({ city: 'Berlin', celsius: 21 })
})

const server = app.listen(Number(PORT), HOST, () => {
  process.send?.((server.address() as AddressInfo).port)
})
// The balancer closes idle connections after 60 s, and must be the one that does.
server.keepAliveTimeout = 75_000
// What is under way is finished; what comes now goes to the others.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    server.close()
    void defaultGateway()
      .close()
      .then(() => process.exit())
  })
// Of the script that shows this without Docker: no shop outlives it.
process.once('disconnect', () => process.exit())
