// Starts an app, says what that took, and ends: start.mjs <what> <entry of this package>
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'

const [, , what, entry] = process.argv
const payTo = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const facilitatorUrl = 'http://127.0.0.1:9'

/** Long enough for what is loaded after the start. */
const SETTLED_MS = 2000

// The one that this package uses: an app has one Express.
const express = createRequire(entry)('express')
const app = express()
const gateway = await openGateway()
if (what === 'official') app.use(await officialMiddleware())
const guards = gateway === undefined ? [] : [gateway.x402Protect('$0.01')]
app.get('/goods', ...guards, (_req, res) => res.json({}))
if (what === 'router') app.use(gateway.gatewayRouter())

await once(app.listen(0, '127.0.0.1'), 'listening')
const wallMs = performance.now()
const { user, system } = process.cpuUsage()
const cpuMs = (user + system) / 1000
const megabytes = memory()
await sleep(SETTLED_MS)
process.stdout.write(JSON.stringify({ wallMs, cpuMs, megabytes, later: memory() }))
process.exit()

function memory() {
  return process.memoryUsage().rss / 1e6
}

async function openGateway() {
  if (what === 'bare' || what === 'official') return undefined
  const { createGateway, httpFacilitator } = await import(entry)
  const network = { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [`0x${'5e'.repeat(32)}`] }
  return createGateway({
    networks: { 'base-sepolia': what === 'facilitator' ? {} : network },
    ...(what === 'facilitator' && { facilitator: httpFacilitator({ url: facilitatorUrl }) }),
    projects: [{ id: 'shop', merchant: { payTo } }],
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
}

async function officialMiddleware() {
  const { paymentMiddleware, x402ResourceServer } = await import('@x402/express')
  const { HTTPFacilitatorClient } = await import('@x402/core/server')
  const { ExactEvmScheme } = await import('@x402/evm/exact/server')
  const network = 'eip155:84532'
  const client = new HTTPFacilitatorClient({ url: facilitatorUrl })
  const server = new x402ResourceServer(client).register(network, new ExactEvmScheme())
  const accepts = [{ scheme: 'exact', network, price: '$0.01', payTo }]
  // Without the last argument, it would ask the facilitator first.
  return paymentMiddleware({ 'GET /goods': { accepts } }, server, undefined, undefined, false)
}
