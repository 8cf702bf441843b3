// Starts an app, and prints what is loaded when it listens, and soon after: app.mjs <what it uses>
import { once } from 'node:events'
import { createRequire, register } from 'node:module'
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import express from 'express'

const what = process.argv[2]
const source = new URL('../../src/', import.meta.url).href
const { port1: seen, port2: port } = new MessageChannel()
seen.unref()
register('./tell-loads.mjs', import.meta.url, { data: { port }, transferList: [port] })

const urls = []
function loaded() {
  for (let one; (one = receiveMessageOnPort(seen)) !== undefined;) urls.push(one.message)
  const { cache } = createRequire(import.meta.url)
  const all = [...urls, ...Object.keys(cache)]
  const files = all.flatMap((url) => (url.startsWith(source) ? [url.slice(source.length)] : []))
  const packages = all.map((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1])
  return { files, packages: [...new Set(packages.filter((name) => name !== undefined))] }
}

const { createGateway, httpFacilitator } = await import('../../src/index.ts')
const url = 'http://127.0.0.1:9'
const network = { rpcUrl: url, relayerKeys: [`0x${'5e'.repeat(32)}`] }
const gateway = createGateway({
  networks: { 'base-sepolia': what === 'facilitator' ? {} : network },
  ...(what === 'facilitator' && { facilitator: httpFacilitator({ url }) }),
  projects: [{ id: 'shop', merchant: { payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C' } }],
  logger: { debug() {}, info() {}, warn() {}, error() {} },
})
const app = express()
app.get('/goods', gateway.x402Protect('$0.01'), (_req, res) => res.json({}))
if (what === 'router') app.use(gateway.gatewayRouter())
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const first = loaded()
const { port: where } = server.address()
const { status } = await fetch(`http://127.0.0.1:${where}/goods`)
await fetch(`http://127.0.0.1:${where}/api/v2/payment/supported`)
await gateway.close()
process.stdout.write(JSON.stringify({ first, status, later: loaded() }))
process.exit()
