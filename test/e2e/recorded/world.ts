/** Gateways with fixed options on a devnet, and a payer whose clock and nonces are the same in every run. */
import express, { type Express } from 'express'
import { numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Devnet } from '../../../src/tools/devnet/index.js'
import { createGateway, fixedRates, type Gateway } from '../../../src/index.js'
import type { GatewayOptions, PaymentPayload, PaymentRequirements } from '../../../src/index.js'
import { askNode } from '../../support/core.js'
import { decodeDocument, listen, type TestServer } from '../../support/http.js'
import { signPayment, type SigningOverrides, type TestPayer } from '../../support/sign-payment.js'
import {
  headerOf,
  record,
  send,
  type Ask,
  type RawAnswer,
  type RecordedAnswer,
} from './exchange.js'

/** Unix seconds at which every run begins: the chain's time can only be put forward. */
const START = Date.parse('2100-01-01T00:00:00Z') / 1000

/** Tokens of the projects. */
export const TOKENS = {
  shop: 'x402_recorded-token-of-the-shop',
  empty: 'x402_recorded-token-without-merchant',
  other: 'x402_recorded-token-of-another-shop',
} as const

/** An account with a key and nothing else. */
export const pauper: TestPayer = accountOf(2)

/** A gateway behind a port of its own. */
export interface RecordedShop {
  readonly gateway: Gateway
  readonly port: number
}

/** An entry of `accepts` to sign for, and how. */
export interface PayOptions extends SigningOverrides {
  readonly payer?: TestPayer
  /** Which entry of `accepts`. @defaultValue the first */
  readonly entry?: number
  /** Members of the entry that the payer changes. */
  readonly accepted?: Partial<PaymentRequirements>
  readonly ask?: Omit<Ask, 'path'>
}

/** Everything that the cases ask, and what has been answered so far. */
export class RecordedWorld {
  readonly answers: RecordedAnswer[] = []
  readonly devnet: Devnet
  readonly #servers: { readonly server: TestServer; readonly gateway: Gateway }[] = []
  readonly #nonces = new Set<string>()
  #seconds = START

  constructor(devnet: Devnet) {
    this.devnet = devnet
  }

  /** Puts the chain's clock to where every run begins. */
  async begin(): Promise<void> {
    await askNode(this.devnet, 'evm_setNextBlockTimestamp', START)
    await this.devnet.mine()
  }

  /** Unix seconds; every request takes one. */
  readonly now = (): number => this.#seconds

  /** Lets time go by. */
  pass(seconds: number): void {
    this.#seconds += seconds
  }

  /** Opens a shop whose relayer is the devnet's of that number. */
  async open(
    relayer: number,
    options: GatewayOptions,
    routes: (app: Express, gateway: Gateway) => void,
  ): Promise<RecordedShop> {
    const silent = (): void => undefined
    const key = this.devnet.relayerKeys[relayer] ?? numberToHex(3, { size: 32 })
    const gateway = createGateway({
      networks: {
        'base-sepolia': {
          rpcUrl: this.devnet.rpcUrl,
          relayerKeys: [key],
          assets: ['USDC', 'EURC'],
        },
      },
      projects: [this.project('shop'), { id: 'empty', tokens: [TOKENS.empty] }],
      rates: fixedRates({ 'EUR/USD': '1.08' }, { now: () => this.#seconds * 1000 }),
      quoteSecret: 'a secret of the recorded answers, no other',
      rateLimit: false,
      logger: { debug: silent, info: silent, warn: silent, error: silent },
      now: () => this.#seconds * 1000,
      ...options,
    })
    const app = express()
    app.set('trust proxy', 'loopback')
    routes(app, gateway)
    const server = await listen(app)
    this.#servers.push({ server, gateway })
    return { gateway, port: server.port }
  }

  /** A project whose merchant is the devnet's. */
  project(
    id: keyof typeof TOKENS,
    merchant: object = {},
  ): NonNullable<GatewayOptions['projects']>[0] {
    const payTo = this.devnet.merchant.address
    return {
      id,
      tokens: [TOKENS[id]],
      merchant: { payTo, crossCurrency: true, fxBufferBps: 50, ...merchant },
    }
  }

  /** Asks, and records what is answered. */
  async ask(name: string, shop: RecordedShop, ask: Ask): Promise<RawAnswer> {
    const answer = await this.askUnrecorded(shop, ask)
    const isFixed = (hex: string): boolean => this.#nonces.has(hex)
    this.#keep(record(name, ask, { answer, isFixed }))
    return answer
  }

  /** A document that was recorded before is named, and not written again. */
  #keep(recorded: RecordedAnswer): void {
    const { body } = recorded
    const same = this.answers.find((one) => body.length > 5000 && one.body === body)
    this.answers.push(same === undefined ? recorded : { ...recorded, body: `<as in ${same.case}>` })
  }

  /** Asks only to get on. */
  async askUnrecorded(shop: RecordedShop, ask: Ask): Promise<RawAnswer> {
    this.pass(1)
    let answer = await send(shop.port, ask)
    // Nothing was sent: a busy machine had no time for it.
    while (answer.status === 503 && answer.body.includes('"code":"settlement_timeout"'))
      answer = await send(shop.port, ask)
    return answer
  }

  /** Asks the API with a token. */
  api(name: string, shop: RecordedShop, ask: Ask & { token?: string }): Promise<RawAnswer> {
    const { token = TOKENS.shop, headers, ...rest } = ask
    const method = rest.method ?? (rest.body === undefined ? 'GET' : 'POST')
    return this.ask(name, shop, {
      ...rest,
      method,
      headers: { 'X-Project-Identify-Token': token, ...headers },
    })
  }

  /** Signs what a route asks. */
  async sign(shop: RecordedShop, path: string, options: PayOptions = {}): Promise<PaymentPayload> {
    const asked = await this.askUnrecorded(shop, { ...options.ask, path })
    const document = decodeDocument<{
      resource: Record<string, unknown>
      accepts: PaymentRequirements[]
    }>(headerOf(asked, 'PAYMENT-REQUIRED'))
    const entry = document.accepts[options.entry ?? 0]
    if (entry === undefined) throw new Error(`${path} does not offer that.`)
    const payload = { resource: document.resource, ...options.payload }
    return this.authorize({ ...entry, ...options.accepted }, { ...options, payload })
  }

  /** Signs an entry of `accepts`, at the clock of this world and with the next nonce. */
  async authorize(
    entry: PaymentRequirements,
    { payer = this.devnet.payers[0]!, ...overrides }: PayOptions = {},
  ): Promise<PaymentPayload> {
    const nonce = numberToHex(this.#nonces.size + 1, { size: 32 })
    this.#nonces.add(nonce)
    return signPayment(payer, entry, {
      validAfter: String(START - 600),
      validBefore: String(this.#seconds + 300),
      nonce,
      ...overrides,
    })
  }

  /** Presents a payment, and records what is answered. */
  present(
    name: string,
    shop: RecordedShop,
    { path, payment, ...ask }: Ask & { payment: object },
  ): Promise<RawAnswer> {
    return this.ask(name, shop, {
      ...ask,
      path,
      headers: { ...ask.headers, 'PAYMENT-SIGNATURE': encode(payment) },
    })
  }

  /** Asks, signs, pays, and records the last answer. */
  async buy(
    name: string,
    shop: RecordedShop,
    { path, ...options }: PayOptions & { path: string },
  ): Promise<PaymentPayload> {
    const payment = await this.sign(shop, path, options)
    await this.present(name, shop, { ...options.ask, path, payment })
    return payment
  }

  /** An entry of `accepts` for one cent. */
  entry(change: Partial<PaymentRequirements> = {}): PaymentRequirements {
    return {
      scheme: 'exact',
      network: 'eip155:84532',
      amount: '10000',
      payTo: this.devnet.merchant.address,
      maxTimeoutSeconds: 300,
      asset: this.devnet.asset,
      extra: { name: 'USDC', version: '2' },
      ...change,
    }
  }

  /** The body of verify and settle. */
  async submission(
    options: PayOptions & { required?: Partial<PaymentRequirements> } = {},
  ): Promise<{
    paymentPayload: PaymentPayload
    paymentRequirements: PaymentRequirements
  }> {
    const paymentRequirements = this.entry(options.required)
    const accepted = this.entry({ ...options.required, ...options.accepted })
    return { paymentPayload: await this.authorize(accepted, options), paymentRequirements }
  }

  /** Closes every shop. */
  async close(): Promise<void> {
    for (const { server, gateway } of this.#servers) {
      await server.close()
      await gateway.close()
    }
  }
}

/** Encodes a payment as its header carries it. */
export function encode(payment: object): string {
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}

/** The extension by which a payer names a payment. */
export function named(id: string): Pick<PaymentPayload, 'extensions'> {
  return { extensions: { 'payment-identifier': { info: { required: false, id } } } }
}

function accountOf(secret: number): TestPayer {
  const privateKey = numberToHex(secret, { size: 32 })
  return { privateKey, address: privateKeyToAccount(privateKey).address }
}
