/** The gateways of a shop: several processes on one ledger, which end and start anew. */
import type { Express, Request, Response } from 'express'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type { Gateway } from '../../src/gateway/gateway-interface.js'
import type { Logger } from '../../src/shared/logger.js'
import { paidRequest } from '../../src/sell/flow/paid-request.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { word } from '../../src/core/chain/abi.js'
import { GOODS } from './buyers.js'
import { FacilitatorElsewhere, nonceOf } from './facilitator.js'
import { GatewayProcess } from './gateway-process.js'
import { PROJECT_TOKEN } from './refunds.js'
import { NOBODY, type Life } from './scheduler.js'
import type { World } from './world.js'

const PLACES = 3

/** Where gateways have no core of their own at first: a facilitator settles all of their payments. */
const REMOTE_PLACE = 2

/** How long a handler takes at most (ms). */
const SLOWEST_MS = 3000

export class Gateways {
  /** Those that run, or have just died, by their places. */
  readonly all: GatewayProcess[] = []
  /** All that were ever started. */
  readonly ever: GatewayProcess[] = []
  /** Payments for which handlers of two requests ran at the same time. */
  readonly madeTwice = new Set<string>()
  /** Whose handler runs, by the payment. */
  readonly #makers = new Map<string, Life>()
  readonly facilitator: FacilitatorElsewhere
  readonly #world: World
  #started = 0
  #isDeployed = false

  constructor(world: World) {
    this.#world = world
    this.facilitator = new FacilitatorElsewhere(world)
    for (let place = 0; place < PLACES; place++) this.#start(place)
  }

  /** Ends one as by SIGKILL. Another takes its place. */
  kill(): void {
    this.#restart(this.#world.faults.chance.below(PLACES))
  }

  /** Deploys gateways with a core of their own where there were none. */
  deploy(): void {
    this.#isDeployed = true
    this.#restart(REMOTE_PLACE)
  }

  #restart(place: number): void {
    const { scheduler, faults, trace } = this.#world
    trace.tell(`${this.all[place]!.life.name} is killed`)
    this.all[place]!.kill()
    scheduler.after(faults.chance.between(100, 8000), () => this.#start(place), NOBODY)
  }

  #start(place: number): void {
    const { scheduler, trace } = this.#world
    const name = `gateway-${place}.${++this.#started}`
    const one = new GatewayProcess(name, scheduler)
    const isRemote = place === REMOTE_PLACE && !this.#isDeployed
    this.all[place] = one
    this.ever.push(one)
    trace.tell(`${name} starts`)
    const node = place % 2 === 0 ? 'node-a' : 'node-b'
    one.start(
      () => (isRemote ? this.#remoteOptions(one.life) : this.#options(one.life, node)),
      (app, gateway) => this.#sell(app, gateway, one),
    )
  }

  #options(life: Life, node: string): GatewayOptions {
    const { relayers } = this.#world
    const relayerKeys = relayers.map(({ key }): Hex => `0x${word(key)}`)
    const facilitator = this.facilitator.askedBy(life, { isTrusted: false })
    return {
      ...this.#usualOptions(life),
      networks: {
        'base-sepolia': {
          rpcUrl: `http://${node}`,
          relayerKeys,
          assets: [{ asset: 'USDC', permit2: true }],
        },
      },
      facilitator: [{ facilitator, networks: ['base-sepolia'], share: '1 in 2' }],
    }
  }

  #remoteOptions(life: Life): GatewayOptions {
    return {
      ...this.#usualOptions(life),
      networks: { 'base-sepolia': { assets: [{ asset: 'USDC', permit2: true }] } },
      facilitator: this.facilitator.askedBy(life, { isTrusted: true }),
    }
  }

  #usualOptions(life: Life): GatewayOptions {
    const { database, merchant } = this.#world
    return {
      projects: [{ id: 'shop', tokens: [PROJECT_TOKEN], merchant: { payTo: merchant.address } }],
      ledger: database.openFor(life),
      rateLimit: false,
      logger: this.#logger(life),
      publicUrl: 'https://shop.example',
    }
  }

  #sell(app: Express, { x402Protect, gatewayRouter }: Gateway, one: GatewayProcess): void {
    app.use(gatewayRouter({ docs: false }))
    for (const [path, units] of Object.entries(GOODS)) {
      const paymentFlow = path === '/upfront' ? 'upfront' : 'authorization'
      const price = `$${Number(units) / 1e6}`
      const asked = path === '/metered' ? { upTo: price } : price
      app.get(path, x402Protect(asked, { paymentFlow }), (req, res, next) => {
        this.#serve(req, res, one).catch(next)
      })
    }
  }

  async #serve(req: Request, res: Response, one: GatewayProcess): Promise<void> {
    const nonce = nonceOf(paidRequest(req).payload)
    const good = await this.#make(nonce, one.life)
    const isFree = req.path.startsWith('/free')
    const charge = req.path === '/metered' ? this.#charge(req) : undefined
    one.tell(req, { event: 'ran', good, isFree, ...(charge !== undefined && { charge }) })
    if (isFree) return void res.status(500).send('not today')
    res.json({ good, nonce, charged: charge })
  }

  /** Charges for what was used: something else whenever it is made, and now and then nothing. */
  #charge(req: Request): string {
    const { chance } = this.#world.faults
    const units = chance.onceIn(8) ? 0 : chance.between(1, Number(GOODS['/metered']))
    paidRequest(req).charge((units / 1e6).toFixed(6))
    return String(units)
  }

  /** Makes what a payment buys, which takes a while now and then. */
  async #make(nonce: string, life: Life): Promise<string> {
    const { scheduler, faults } = this.#world
    const maker = this.#makers.get(nonce)
    if (maker?.isDead === false) this.madeTwice.add(nonce)
    this.#makers.set(nonce, life)
    if (faults.chance.onceIn(2)) await scheduler.wait(faults.chance.between(1, SLOWEST_MS))
    if (this.#makers.get(nonce) === life) this.#makers.delete(nonce)
    return faults.chance.bytes(8).toString('hex')
  }

  /** What gateways log is in the trace. */
  #logger({ name }: Life): Logger {
    const log = (message: string, fields: object = {}): void =>
      this.#world.trace.tell(`${name} logs: ${message} ${JSON.stringify(fields, wordsOfErrors)}`)
    return { debug() {}, info() {}, warn: log, error: log }
  }
}

/** A stack names the files of this run. */
function wordsOfErrors(key: string, value: unknown): unknown {
  if (key === 'stack') return undefined
  return value instanceof Error ? value.message : value
}
