/** One world: a chain with its nodes, a database, gateways that die and start anew, and those who buy. */
import { createHash } from 'node:crypto'
import { paidRequest } from '../../src/sell/flow/paid-request.js'
import type { Logger } from '../../src/shared/logger.js'
import { world } from '../../src/shared/world.js'
import { NOBODY, outsideOf, Scheduler } from './scheduler.js'
import { Buyers, GOODS, type Path, type Purchase } from './buyers.js'
import { Chain, type Signed } from './chain.js'
import { Chance } from './chance.js'
import { Faults } from './faults.js'
import { GatewayProcess } from './gateway-process.js'
import { Database } from './ledger.js'
import { Node } from './node.js'
import { judge, type Violation } from './oracle.js'
import { accountOf } from './signing.js'
import { connect } from './wire.js'

export interface SimulationOptions {
  readonly seed: string
  readonly payments: number
  /** Called with each line of the trace. */
  readonly onLine?: ((line: string) => void) | undefined
  /** Purchases a second. @defaultValue 15 */
  readonly rate?: number
}

export interface Outcome {
  readonly violations: readonly Violation[]
  readonly purchases: readonly Purchase[]
  readonly faults: Faults
  /** Simulated time (s). */
  readonly seconds: number
  /** Of the trace: SHA-256. */
  readonly trace: string
  readonly transfers: number
  readonly events: number
}

const START_MS = 1_800_000_000_000
const BLOCK_MS = 2000
const GATEWAYS = 3
const ACCOUNTS = 100
const PAY_TO = `0x${'ab'.repeat(20)}`

/** How long the world goes on once the faults have ended, and the last buyer has gone (ms). */
const AFTERWARDS_MS = 1_500_000

/** About how often (ms). */
const EVERY_MS = {
  crash: 10_000,
  reorganisation: 30_000,
  lag: 30_000,
  away: 60_000,
  forgot: 30_000,
  stall: 60_000,
}

export async function simulate(options: SimulationOptions): Promise<Outcome> {
  const { seed, payments, onLine, rate = 15 } = options
  const scheduler = new Scheduler()
  const { world: outside, replaceGlobals } = outsideOf(
    scheduler,
    new Chance(`${seed}/chance`),
    START_MS,
  )
  Object.assign(world, outside)
  replaceGlobals()
  const hash = createHash('sha256')
  const tell = (purchase: number, words: string): void => {
    const line = `${scheduler.elapsed.toFixed(0)} ${purchase < 0 ? '' : `#${purchase} `}${words}\n`
    hash.update(line)
    onLine?.(line)
  }

  const faults = new Faults(new Chance(`${seed}/faults`))
  const { chance } = faults
  const signed = new Map<string, Signed>()
  const relayerKeys = [1n, 2n].map((index) => accountOf(0xfeedn + index))
  const chain = new Chain(signed)
  const nodes = new Map(['node-a', 'node-b'].map((name) => [name, new Node(chain, seconds)]))
  const away = new Set<string>()
  function seconds(): number {
    return Math.floor(outside.now() / 1000)
  }
  connect({
    scheduler,
    faults,
    nodes,
    away,
  })
  const database = new Database(scheduler, faults, outside.now)
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) =>
    accountOf(0xacc0_0000n + BigInt(index)),
  )
  for (const { address } of accounts) chain.endow(address.toLowerCase(), { token: 10n ** 15n })
  for (const { address } of relayerKeys) chain.endow(address.toLowerCase(), { ether: 10n ** 24n })

  const gateways: GatewayProcess[] = []
  let started = 0
  /** What gateways log is in the trace. */
  const loggerOf = (name: string): Logger => {
    const log = (message: string, fields: object = {}): void =>
      tell(-1, `${name} logs: ${message} ${JSON.stringify(fields, wordsOfErrors)}`)
    return { debug() {}, info() {}, warn: log, error: log }
  }
  const startGateway = (place: number): void => {
    const name = `gateway-${place}.${++started}`
    const one = new GatewayProcess(name, scheduler)
    gateways[place] = one
    tell(-1, `${name} starts`)
    one.start(
      () => ({
        networks: {
          'base-sepolia': {
            rpcUrl: `http://node-${place % 2 === 0 ? 'a' : 'b'}`,
            relayerKeys: relayerKeys.map(
              ({ key }) => `0x${key.toString(16).padStart(64, '0')}`,
            ) as never,
          },
        },
        projects: [{ id: 'shop', merchant: { payTo: PAY_TO } }],
        ledger: database.openFor(one.life),
        rateLimit: false,
        logger: loggerOf(name),
        publicUrl: 'https://shop.example',
      }),
      (app, { x402Protect }) => {
        for (const [path, units] of Object.entries(GOODS) as [Path, bigint][]) {
          const paymentFlow = path === '/upfront' ? 'upfront' : 'authorization'
          app.get(path, x402Protect(`$${Number(units) / 1e6}`, { paymentFlow }), (req, res) => {
            const { authorization } = paidRequest(req).payload.payload as {
              authorization: { nonce: string }
            }
            if (path.startsWith('/free')) return void res.status(500).send('not today')
            const good = chance.bytes(8).toString('hex')
            res.json({ good, nonce: authorization.nonce })
          })
        }
      },
    )
  }
  for (let place = 0; place < GATEWAYS; place++) startGateway(place)

  let stalledUntil = 0
  const mine = (): void => {
    scheduler.after(BLOCK_MS, mine, NOBODY)
    if (scheduler.elapsed >= stalledUntil) chain.mine(seconds())
  }
  scheduler.after(BLOCK_MS, mine, NOBODY)

  const often = (fault: keyof typeof EVERY_MS, happens: () => unknown): void => {
    const again = (): void => {
      scheduler.after(EVERY_MS[fault] * (0.5 + chance.fraction()), again, NOBODY)
      if (!faults.isOn) return
      faults.note(fault)
      happens()
    }
    scheduler.after(EVERY_MS[fault] * chance.fraction(), again, NOBODY)
  }
  often('crash', () => {
    const place = chance.below(GATEWAYS)
    tell(-1, `${gateways[place]!.life.name} is killed`)
    gateways[place]!.kill()
    scheduler.after(chance.between(100, 8000), () => startGateway(place), NOBODY)
  })
  often('reorganisation', () => {
    const depth = chance.between(1, 8)
    tell(-1, `${depth} blocks are undone`)
    chain.reorganise(depth, () => !chance.onceIn(4))
  })
  often('lag', () => {
    const node = chance.pick([...nodes.values()])
    node.lag = chance.between(1, 5)
    scheduler.after(chance.between(1000, 20_000), () => (node.lag = 0), NOBODY)
  })
  often('away', () => {
    const name = chance.pick([...nodes.keys()])
    away.add(name)
    scheduler.after(chance.between(500, 10_000), () => away.delete(name), NOBODY)
  })
  often('stall', () => (stalledUntil = scheduler.elapsed + chance.between(5000, 50_000)))
  often('forgot', () => {
    for (const one of [...chain.pool.keys()]) if (chance.onceIn(2)) chain.pool.delete(one)
  })

  const market = {
    ...{ scheduler, chain, gateways, signed, accounts, seconds, tell },
    chance: new Chance(`${seed}/buyers`),
    payTo: PAY_TO,
  }
  const buyers = new Buyers(market)
  const purchases: Purchase[] = []
  let begun = 0
  let ended = 0
  const begin = (): void => {
    const number = begun++
    if (begun < payments) scheduler.after((2 * 1000 * chance.fraction()) / rate, begin, NOBODY)
    void buy(number)
  }
  const buy = async (number: number): Promise<void> => {
    const purchase = await buyers.buy(number)
    ended++
    if (purchase !== undefined) purchases.push(purchase)
  }
  scheduler.after(5000, begin, NOBODY)
  await scheduler.runUntil(() => begun === payments)
  faults.isOn = false
  await scheduler.runUntil(() => ended === payments)
  const end = scheduler.elapsed + AFTERWARDS_MS
  await scheduler.runUntil(() => scheduler.elapsed >= end)

  let isJudged = false
  const judging = judge({ chain, ledger: database.open(), purchases, payTo: PAY_TO })
  void judging.catch(() => undefined).finally(() => (isJudged = true))
  await scheduler.runUntil(() => isJudged)
  const violations = await judging
  return {
    violations,
    purchases,
    faults,
    seconds: scheduler.elapsed / 1000,
    trace: hash.digest('hex'),
    transfers: chain.transfers,
    events: scheduler.happened,
  }
}

/** A stack names the files of this run. */
const wordsOfErrors = (key: string, value: unknown): unknown => {
  if (key === 'stack') return undefined
  return value instanceof Error ? value.message : value
}
