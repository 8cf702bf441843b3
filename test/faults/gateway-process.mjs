// A shop with a gateway, in a process of its own, so that tests can kill it. It is told how to be
// by FAULT_GATEWAY (JSON) and prints `{"port":…}` once it answers. It ends with its parent: when its
// standard input does.
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { createGateway } from '../../dist/esm/index.js'
import { postgresLedger, sqliteLedger } from '../../dist/esm/sql.js'

const { network, payTo, token, ledger, lockMs, closeMs, options, diesIn } = JSON.parse(
  process.env.FAULT_GATEWAY,
)
const openLedger = ledger.startsWith('postgres') ? postgresLedger : sqliteLedger

const write = (level) => (message, fields) =>
  process.stderr.write(
    `${JSON.stringify({ level, message, ...fields }, (_name, value) =>
      value instanceof Error ? { message: value.message, cause: value.cause } : value,
    )}\n`,
  )

// The second argument is for tests; no declaration has it.
const store = ledger === 'memory' ? undefined : openLedger(ledger, { lockMs })
if (diesIn !== undefined)
  store[diesIn] = () => {
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  }

const gateway = createGateway({
  networks: { 'base-sepolia': network },
  projects: [{ id: 'shop', tokens: [token], merchant: { payTo } }],
  ledger: store,
  rateLimit: false,
  // Clients see one shop, whichever process answers on whichever port.
  publicUrl: 'https://shop.example',
  logger: {
    debug: () => undefined,
    info: () => undefined,
    warn: write('warn'),
    error: write('error'),
  },
  ...options,
})

const app = express()
app.get('/report', gateway.x402Protect('$0.01'), (_req, res) => void res.json({ sold: true }))
app.get('/slow/:ms', gateway.x402Protect('$0.01'), (req, res, next) => {
  sleep(Number(req.params.ms)).then(() => res.json({ sold: true }), next)
})
const resourceUrl = () => 'https://shop.example/numbered'
app.get('/numbered', gateway.x402Protect('$0.01', { resourceUrl }), (req, res) => {
  res.json({ number: req.query.n })
})
let release
const released = new Promise((resolve) => (release = resolve))
app.get('/held', gateway.x402Protect('$0.01'), (_req, res, next) => {
  released.then(() => res.json({ sold: true })).catch(next)
})
app.post('/release', (_req, res) => {
  release()
  res.end()
})
app.get('/stream', gateway.x402Protect('$0.01', { paymentFlow: 'upfront' }), (_req, res) => {
  res.json({ sold: true })
})
app.get(
  '/slow-stream/:ms',
  gateway.x402Protect('$0.01', { paymentFlow: 'upfront' }),
  (req, res, next) => {
    sleep(Number(req.params.ms)).then(() => res.json({ sold: true }), next)
  },
)
app.get('/never', gateway.x402Protect('$0.01'), () => undefined)
app.get('/never-stream', gateway.x402Protect('$0.01', { paymentFlow: 'upfront' }), () => undefined)
app.use(gateway.gatewayRouter())

const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`)
})
// Idle connections are the client's to close: it must not send into one that is being closed.
server.keepAliveTimeout = 0
process.stdin.on('end', () => process.exit()).resume()
for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, () => {
    server.close()
    // Nothing else keeps the process up: that it ends is for the gateway to see to.
    void gateway.close({ timeoutMs: closeMs }).then(() => process.stdin.destroy())
  })
