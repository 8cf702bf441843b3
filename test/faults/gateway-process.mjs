// A shop with a gateway, in a process of its own, so that tests can kill it. It is told how to be
// by FAULT_GATEWAY (JSON) and prints `{"port":…}` once it answers, and then what becomes of each visit
// (`VisitReport`). It ends with its parent: when its standard input does.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import express from 'express'
import { createGateway, paidRequest } from '../../dist/esm/index.js'
import { postgresLedger, sqliteLedger } from '../../dist/esm/sql.js'

const { network, payTo, token, other, ledger, lockMs, closeMs, options, diesIn } = JSON.parse(
  process.env.FAULT_GATEWAY,
)
const hasRates = options?.rates !== undefined
const openLedger = ledger.startsWith('postgres') ? postgresLedger : sqliteLedger

const write = (level) => (message, fields) =>
  process.stderr.write(
    `${JSON.stringify({ level, message, ...fields }, (_name, value) =>
      value instanceof Error ? { message: value.message, cause: value.cause } : value,
    )}\n`,
  )

// The second argument is for tests; no declaration has it.
const store = ledger === 'memory' ? undefined : openLedger(ledger, { lockMs })
if (diesIn !== undefined) {
  const [moment, part, method] = diesIn.split(/[ .]/)
  const run = store[part][method]
  store[part][method] = async (...args) => {
    if (moment === 'after') await run(...args)
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  }
}

const gateway = createGateway({
  networks: { 'base-sepolia': network },
  projects: [
    { id: 'shop', tokens: [token], merchant: { payTo, crossCurrency: hasRates } },
    ...(other ? [{ id: 'other', tokens: [other.token], merchant: { payTo: other.payTo } }] : []),
  ],
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

const x402Protect = (price, declared) =>
  gateway.x402Protect(price, { merchant: 'shop', ...declared })

/** Prints what becomes of a visit. The pipe takes it at once, so that it outlives a kill. */
function report(req, event, fields) {
  const visit = req.get('x-test-visit')
  if (visit === undefined) return
  process.stdout.write(`${JSON.stringify({ visit, event, ...fields })}\n`)
}

/** What was bought with a response: a good that a handler made, or a settlement. */
function boughtWith(chunk) {
  const text = chunk instanceof Uint8Array ? Buffer.from(chunk).toString('utf8') : String(chunk)
  const good = /"good":"([^"]+)"/.exec(text)?.[1]
  const isSettled = text.includes('"success":true')
  return {
    good: isSettled ? /"transaction":"([^"]+)"/.exec(text)?.[1] : good,
    isFree: text.includes('"free":true'),
  }
}

/** Charges what a visit asks for, in two parts; never more than was signed. Only metered routes have that. */
function meter(req) {
  const { requirements, amount, charge } = paidRequest(req)
  const { scheme, ...unit } = requirements
  if (scheme !== 'upto') return undefined
  const take = (units) =>
    charge({ asset: unit.asset, network: unit.network, amount: String(units) })
  const asked = req.get('x-test-charge')
  try {
    take(BigInt(amount) + 1n)
  } catch (error) {
    if (error.code !== 'charge_exceeds_maximum') throw error
  }
  if (asked === undefined) return amount
  const first = BigInt(asked) / 3n
  for (const part of [first, BigInt(asked) - first]) take(part)
  return asked
}

/** Makes a good that no other handler has made. */
function make(req, fields) {
  const good = randomUUID()
  const charge = meter(req)
  report(req, 'ran', { good, ...fields, ...(charge !== undefined && { charge }) })
  return { sold: true, good, ...(fields?.isFree && { free: true }) }
}

const app = express()
app.set('env', 'test')
app.use((req, res, next) => {
  report(req, 'took', { mood: req.get('x-test-mood') })
  const { end } = res
  // Outside of the gateway: what is held is seen when it is let out.
  res.end = (...args) => {
    const isConnected = !req.socket.destroyed
    report(req, 'sent', { status: res.statusCode, isConnected, ...boughtWith(args[0]) })
    return Reflect.apply(end, res, args)
  }
  next()
})
app.get('/report', x402Protect('$0.01'), (req, res) => void res.json(make(req)))
// Prices that depend on the request come as signed quotes.
app.get(
  '/priced',
  x402Protect((req) => `$0.0${Number(req.query.cents)}`, { quoteFor: () => '' }),
  (req, res) => void res.json(make(req)),
)
// Two prices at one URL, and two routes of one good.
const shared = { resourceUrl: () => 'https://shop.example/plans' }
for (const [path, cheap, dear] of [
  ['/plans', '$0.01', '$0.03'],
  ...(hasRates ? [['/plans/euro', '€0.01', '€0.03']] : []),
])
  for (const route of [path, `${path}/twin`]) {
    const [small, big] = [x402Protect(cheap, shared), x402Protect(dear, shared)]
    app.get(
      route,
      (req, res, next) => (req.get('x-plan') === 'dear' ? big : small)(req, res, next),
      (req, res) => void res.json(make(req)),
    )
  }
app.get('/old', x402Protect('$0.01', { v1: true }), (req, res) => void res.json(make(req)))
// A maximum, of which the handler charges a part.
app.get(['/charged', '/charged/:cents'], x402Protect({ upTo: '$0.10' }), (req, res) => {
  const { cents } = req.params
  const said = req.get('x-test-charge') ?? '$0'
  paidRequest(req).charge(cents === undefined ? said : `$0.${cents.padStart(2, '0')}`)
  res.json(make(req))
})
if (other)
  app.get('/other', x402Protect('$0.01', { merchant: 'other' }), (req, res) => {
    res.json(make(req))
  })
app.get('/heap', (_req, res) => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  res.json({ bytes: process.memoryUsage().heapUsed })
})
app.get('/usage', (_req, res) => void res.json(process.cpuUsage()))
app.get('/slow/:ms', x402Protect('$0.01'), (req, res, next) => {
  sleep(Number(req.params.ms)).then(() => res.json(make(req)), next)
})

/** What handlers may do, beside what they ought to. Those that answer twice count once. */
const MOODS = {
  well: (req, res) => res.json(make(req)),
  twice(req, res) {
    res.json(make(req))
    res.status(404).json({ error: 'handler_late' })
  },
  fails_after(req, res, next) {
    res.json(make(req))
    next(new Error('after the answer'))
  },
  fails_later(req, res, next) {
    res.json(make(req))
    setTimeout(() => next(new Error('after the answer')), 5)
  },
  waives(req, res) {
    paidRequest(req).waive('mood')
    res.json(make(req, { isFree: true }))
  },
  refuses(req, res) {
    report(req, 'ran', { isFree: true })
    res.status(404).json({ error: 'handler_refused' })
  },
  refuses_twice(req, res) {
    report(req, 'ran', { isFree: true })
    res.status(404).json({ error: 'handler_refused' })
    res.status(200).json({ sold: true, good: 'none', free: true })
  },
}
const moody = (req, res, next) => {
  const mood = MOODS[req.get('x-test-mood')] ?? MOODS.well
  sleep(Number(req.get('x-test-delay') ?? 0))
    .then(() => mood(req, res, next))
    .catch((error) => next(error))
}
app.get('/moody', x402Protect('$0.01'), moody)
app.get('/metered', x402Protect({ upTo: '$0.01' }), moody)
const resourceUrl = () => 'https://shop.example/numbered'
app.get('/numbered', x402Protect('$0.01', { resourceUrl }), (req, res) => {
  res.json({ number: req.query.n })
})
let release
const released = new Promise((resolve) => (release = resolve))
app.get('/held', x402Protect('$0.01'), (req, res, next) => {
  released.then(() => res.json(make(req))).catch(next)
})
app.post('/release', (_req, res) => {
  release()
  res.end()
})
app.get('/stream', x402Protect('$0.01', { paymentFlow: 'upfront' }), (req, res) => {
  res.json(make(req))
})
app.get('/slow-stream/:ms', x402Protect('$0.01', { paymentFlow: 'upfront' }), (req, res, next) => {
  sleep(Number(req.params.ms)).then(() => res.json(make(req)), next)
})
app.get('/never', x402Protect('$0.01'), () => undefined)
app.get('/never-stream', x402Protect('$0.01', { paymentFlow: 'upfront' }), () => undefined)
app.use(gateway.healthRouter())
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
