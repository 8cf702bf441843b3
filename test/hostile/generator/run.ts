/**
 * Changes valid payments in every way that is known, presents them, and asks the oracle of the fault suite.
 *
 * Each case has a payer of its own and draws its own chance from the seed and its number, so that it can
 * be run alone.
 */
import { keccak256, stringToHex } from 'viem/utils'
import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAddress } from 'viem/accounts'
import { encodeMint, MINTER } from '../../../src/tools/devnet/mint.js'
import type { Devnet } from '../../../src/tools/devnet/index.js'
import { aggregate, TRANSFER } from '../../../src/core/chain/abi.js'
import { executorOf } from '../../../src/core/chain/executor.js'
import { sameHex } from '../../../src/shared/protocol/hex.js'
import type {
  Hex,
  PaymentPayload,
  PaymentRequirements,
} from '../../../src/shared/protocol/payment.js'
import type { Reason } from '../../../src/shared/protocol/reasons.js'
import { authorizationOf } from '../../faults/authorization.js'
import { findViolations, readTransfers } from '../../faults/oracle.js'
import { openWorld, type World } from '../../faults/world.js'
import { createRandom, type Random } from '../../soak/random.js'
import { askNode } from '../../support/core.js'
import type { TestPayer } from '../../support/sign-payment.js'
import { Database } from '../../support/sqlite.js'
import { untilMined } from '../../support/on-chain.js'
import type { Kind, Terms } from './kind.js'
import { kinds, SHAPES } from './kinds/kinds.js'
import { Market, QUOTE_SECRET, type Asked, type Told } from './market.js'
import {
  combine,
  memberAt,
  overlap,
  STAGES,
  type Document,
  type Mutation,
  type MutationContext,
  type Verdict,
  type WireRequest,
} from './mutation.js'
import { mutationsOf, twinsOf } from './mutations.js'
import { TARGETS, TOKENS, type Target } from './targets.js'
import { HEADER } from './wire.js'

/** Cases that run at the same time. */
const AT_ONCE = 32
/** Most mutations of a payment. */
const MOST_MUTATIONS = 3
/** So many payments are honest, or rewritten so that they mean the same. */
const HONEST = 0.1
/** Units of the token that each payer has. */
const FUNDS = 10n ** 20n
/** Accounts with code wait while what they have pending could cost us more than they have earned. */
const LATER: Reason = 'payer_temporarily_refused'
const LATER_MS = 200
const MOST_TRIES = 100
/** So many cases sell something by each kind of payment. */
const ENOUGH_CASES = 100
/** Accounts that are made by one transaction. */
const MADE_AT_ONCE = 50
/** Payers that are funded by one transaction. */
const FUNDED_AT_ONCE = 100

/** What the heap may grow by once a tenth of the cases is over (bytes). */
const MOST_GROWTH_BYTES = 32 * 2 ** 20
/** Rows of one table of the ledger beside those of payments that were taken. */
const MOST_OTHER_ROWS = 200

/** Which cases to run. */
export interface GeneratedCases {
  readonly seed: number
  readonly cases: number
  /** Runs this case alone. */
  readonly only?: number
}

/** What came of them. */
export interface Outcome {
  /** What must not be, with the case that it is of. */
  readonly violations: readonly string[]
  readonly figures: object
  /** How often each mutation was drawn. */
  readonly drawn: ReadonlyMap<string, number>
}

/** How a payment is presented, after its first time or beside it. */
const MANNERS = [
  ...['once', 'once', 'once', 'twice at once', 'again', 'elsewhere'],
  ...['at the API at once', 'beside the honest one'],
  // Another payment of the same nonce: of another token, scheme, route or merchant.
  ...['beside a rival', 'after a rival', 'before a rival'],
  // The very payment, and then the same with one member or its place changed, in this process or another one.
  ...['changed after a verify', 'changed after a verify', 'changed after a payment'],
  'changed after a payment',
] as const

/** What payers have beside USDC. */
const OTHER_ASSETS = [...new Set(kinds.flatMap(({ asset }) => (asset?.address as Hex) ?? []))]

/** Everything about a case that chance decides. */
interface Case {
  readonly number: number
  readonly random: Random
  readonly payer: TestPayer
  readonly kind: Kind
  readonly target: Target
  readonly mutations: readonly Mutation[]
  readonly manner: (typeof MANNERS)[number]
}

/** What was bought with a payment. */
interface Sale {
  readonly price: bigint
  readonly asset: string
  readonly payTo: string
}

/** A request, and what it buys. */
interface Written {
  readonly request: WireRequest
  readonly sale: Sale
}

/** Runs cases on a chain of its own. */
export async function runGenerated(devnet: Devnet, cases: GeneratedCases): Promise<Outcome> {
  const payTo = privateKeyToAddress(keccak256(stringToHex(`${cases.seed} another merchant`)))
  const world = await openWorld(devnet, {
    relayers: 3,
    // No process dies here: on a busy machine, a short hold would make a living one look dead.
    lockMs: 60_000,
    // A busy machine is not what is tried here.
    options: {
      quoteSecret: QUOTE_SECRET,
      rates: { 'EUR/USD': '1.25' },
      settleTimeoutMs: 50_000,
    },
    other: { payTo, token: TOKENS.other },
  })
  // Metered payments are settled by an executor, or by the first relayer alone.
  const hasExecutor = cases.seed % 2 === 1
  if (hasExecutor) {
    const { deployment } = executorOf(world.relayers.map(({ address }) => address))
    const transaction = { from: MINTER, gas: '0x100000', ...deployment }
    await untilMined(devnet, await askNode(devnet, 'eth_sendTransaction', transaction))
  }
  try {
    const market = await Market.open(world, {
      ...(hasExecutor && { executor: true }),
    })
    return await new Run(world, market, { ...cases, merchants: [world.merchant, payTo] }).all()
  } finally {
    await world.close()
  }
}

class Run {
  readonly #world: World
  readonly #market: Market
  readonly #settings: GeneratedCases & { readonly merchants: readonly Hex[] }
  readonly #violations: string[] = []
  /** Descriptions of cases by their payers, as the oracle names them. */
  readonly #cases = new Map<string, string>()
  /** What was sold, by payment. */
  readonly #sales = new Map<string, Sale>()
  /** How often each mutation was drawn. */
  readonly #drawn = new Map<string, number>()
  readonly #reasons = new Map<string, number>()
  /** Cases in which something was sold, by kind of payment. */
  readonly #sold: Record<string, number> = {}
  #honest = 0
  #funded: Promise<void> = Promise.resolve()

  constructor(
    world: World,
    market: Market,
    settings: GeneratedCases & { readonly merchants: readonly Hex[] },
  ) {
    this.#world = world
    this.#market = market
    this.#settings = settings
  }

  async all(): Promise<Outcome> {
    const startedAt = performance.now()
    const { cases, seed, only } = this.#settings
    const numbers =
      only === undefined ? Array.from({ length: cases }, (_, index) => index + 1) : [only]
    const drawn = await this.#withAccounts(numbers.map((number) => this.#draw(number)))
    const everybody = drawn.map(({ payer }) => payer.address)
    await this.#fund(everybody)
    const ofPermit2 = drawn.filter(({ kind }) => kind.shape !== 'eip3009')
    for (const asset of OTHER_ASSETS)
      await this.#fund(
        ofPermit2.map(({ payer }) => payer.address),
        asset,
      )
    let isOver = false
    const honest = Promise.all([0, 1].map((buyer) => this.#serveHonest(buyer, () => isOver)))
    honest.catch(() => undefined)
    let heapBefore = 0
    const left = drawn.entries()
    const client = async (): Promise<void> => {
      for (const [index, one] of left) {
        if (index === Math.floor(drawn.length / 10)) heapBefore = await this.#market.heapBytes()
        await this.#run(one)
      }
    }
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, client))
    } finally {
      isOver = true
      await honest
    }
    const heapGrowth = (await this.#market.heapBytes()) - heapBefore
    if (heapGrowth > MOST_GROWTH_BYTES)
      this.#violations.push(`the heap has grown by ${heapGrowth} bytes`)
    this.#violations.push(...(await this.#judge()), ...this.#market.leaksOfLog())
    for (const { name } of kinds)
      if (this.#sold[name] === undefined && drawn.length > ENOUGH_CASES)
        this.#violations.push(`nothing was sold by ${name}`)
    const figures = {
      ...{ seed, cases: drawn.length, honest: this.#honest, heapGrowth },
      answers: this.#market.answers.length,
      delivered: this.#market.answers.filter(({ delivered }) => delivered).length,
      sold: this.#sold,
      reasons: Object.fromEntries([...this.#reasons].sort(([, one], [, other]) => other - one)),
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    }
    return { violations: this.#violations, figures, drawn: this.#drawn }
  }

  /** Makes, changes and presents one payment. */
  async #run(one: Case): Promise<void> {
    const { number, payer, target, kind, mutations, manner, random } = one
    const name = paymentOf(payer.address, kind.shape !== 'eip3009')
    const what = mutations.map((mutation) => mutation.name).join('; ') || 'unchanged'
    const description = `--seed ${this.#settings.seed} --only ${number} (${kind.name} at ${target.name}, ${manner}: ${what})`
    this.#cases.set(payer.address.toLowerCase(), description)
    const report = (violation: string): void =>
      void this.#violations.push(`${description}: ${violation}`)
    try {
      const asked = await this.#market.ask(target)
      const entry = asked.accepts.find((offered) => kind.takes(offered))
      if (entry === undefined) throw new Error('it is not offered')
      const pay = (label: string, change = (terms: Terms): Terms => terms) =>
        kind.pay(payer, entry, change(this.#terms(entry, `${number} ${label}`)))
      const foreign: Record<string, PaymentPayload> = {}
      for (const other of SHAPES)
        if (other.shape !== kind.shape)
          foreign[other.shape] = await other.pay(payer, entry, {
            ...this.#terms(entry, `${number} first`),
            ...(await this.#market.facilitator()),
          })
      const { accepts } = asked
      const context: MutationContext = {
        ...{ kind, target, random, foreign, accepts },
        other: await pay('other'),
        victim: this.#payer(number > 1 ? number - 1 : 2).address,
      }
      const signed = await pay('first', (terms) => changeTerms(terms, mutations, context))
      const changed = this.#write(signed, { asked, entry, mutations, context })
      const verdict = combine(mutations.map((mutation) => verdictOf(mutation, context)))
      const present = async (
        at = target,
        { request: written, sale }: Written = changed,
        isSecond = false,
      ): Promise<Told> => {
        const request = { ...written, isSecond }
        let told = await this.#market.present(at, name, request)
        for (let tries = 1; told.reason === LATER && tries < MOST_TRIES; tries++) {
          await sleep(LATER_MS)
          told = await this.#market.present(at, name, request)
        }
        for (const mistake of told.mistakes) report(mistake)
        const reason = told.isGood ? 'good' : (told.reason ?? '').slice(0, 60)
        this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
        if (told.delivered) this.#sales.set(name, sale)
        return told
      }
      const unchanged = { asked, entry, context, mutations: [] }
      const api = TARGETS.find(
        ({ path, project }) => path.endsWith('/settle') && project === target.project,
      )!
      const unchangedAtApi = {
        ...{ ...unchanged, asked: { ...asked, path: api.path } },
        context: { ...context, target: api },
      }
      if (manner.startsWith('changed')) {
        const isSale = manner.endsWith('payment') && !target.path.endsWith('/verify')
        const verify = { ...api, path: api.path.replace(/settle$/, 'verify') }
        const atVerify = {
          ...{ ...unchanged, asked: { ...asked, path: verify.path } },
          context: { ...context, target: verify },
        }
        const asSigned = this.#write(signed, unchanged)
        const [at, asIs] = isSale ? [target, asSigned] : [verify, this.#write(signed, atVerify)]
        const before = await present(at, asIs, random.chance(0.5))
        if (!before.isGood) return report(`the unchanged payment was refused: ${before.reason}`)
        const told = await present(target, changed, random.chance(0.5))
        if (told.isGood && (isSale || verdict === 'refused')) report('it was accepted')
        if (!told.isGood && !isSale && verdict === 'accepted')
          report(`it was refused: ${told.reason}`)
        const after =
          isSale || told.isGood ? undefined : await present(target, asSigned, random.chance(0.5))
        if (after?.isGood === false)
          report(`afterwards the honest payment was refused: ${after.reason}`)
        this.#sold[kind.name] = (this.#sold[kind.name] ?? 0) + 1
        return
      }
      const honest = verdict === 'refused' ? await pay('first') : signed
      const payHonestly = (): Promise<Told> => present(target, this.#write(honest, unchanged))
      const payRival = await this.#rival(one, {
        nonce:
          honest === signed
            ? changeTerms(this.#terms(entry, `${number} first`), mutations, context).nonce
            : undefined,
        present,
      })
      const presentBeside = (): Promise<Told> | undefined => {
        if (manner === 'beside the honest one') return payHonestly()
        if (manner === 'beside a rival') return payRival()
        if (manner !== 'at the API at once') return undefined
        return present(api, this.#write(honest, unchangedAtApi))
      }
      const before = manner === 'after a rival' ? await payRival() : undefined
      const [beside, ...first] = await Promise.all([
        presentBeside(),
        present(),
        ...(manner === 'twice at once' ? [present()] : []),
      ])
      const after = manner === 'before a rival' ? await payRival() : undefined
      const isGood = first.some((told) => told.isGood)
      const others = [before, beside, after].filter((told) => told !== undefined)
      const isSold = isGood || others.some((told) => told.isGood)
      const reasons = first.map(({ status, reason }) => `${status} ${reason}`).join(', ')
      if (isSold) this.#sold[kind.name] = (this.#sold[kind.name] ?? 0) + 1
      if (isGood && verdict === 'refused') report('it was accepted')
      if (!isSold && verdict === 'accepted') report(`it was refused: ${reasons}`)
      for (const told of others)
        if (!told.isGood && verdict === 'refused')
          report(`another payment was refused beside it: ${told.status} ${told.reason}`)
      if (before?.isGood && isGood) report('it was good after its nonce was used')
      const later =
        manner === 'again'
          ? await present()
          : manner === 'elsewhere' && !target.isApi
            ? await present(target, this.#elsewhere(changed, entry, target))
            : undefined
      // What others made of a payment does not keep its buyer from having it.
      if (!isSold && later?.isGood !== true && random.chance(0.3)) {
        const told = await payHonestly()
        if (!told.isGood) report(`afterwards the honest payment was refused: ${told.reason}`)
      }
      // The nonces of Permit2 and of tokens are not the same.
      if (kind.shape !== 'eip3009' && random.chance(0.1)) await this.#payByToken(one, report)
    } catch (error) {
      report(`it could not be presented: ${String((error as Error).stack ?? error)}`)
    }
  }

  /** Makes another payment with the nonce of a case: of another token or scheme, for another route or merchant. */
  async #rival(
    { number, payer, kind, target, random, manner }: Case,
    {
      nonce,
      present,
    }: {
      readonly nonce: Hex | undefined
      readonly present: (at: Target, written: Written) => Promise<Told>
    },
  ): Promise<() => Promise<Told>> {
    if (!manner.endsWith('a rival')) return () => Promise.reject(new Error('no rival'))
    const isOwn = (other: Kind): boolean =>
      kind.shape === 'eip3009' ? other === kind : other.shape !== 'eip3009'
    const rival = random.pick(kinds.filter(isOwn))
    const at = random.pick(
      TARGETS.filter(
        (other) => other !== target && suits(rival, other) && !other.path.endsWith('/verify'),
      ),
    )
    const asked = await this.#market.ask(at)
    const entry = asked.accepts.find((offered) => rival.takes(offered))!
    const terms = this.#terms(entry, `${number} first`)
    const payment = await rival.pay(payer, entry, { ...terms, nonce: nonce ?? terms.nonce })
    const context = { kind: rival, target: at } as MutationContext
    return () => present(at, this.#write(payment, { asked, entry, context, mutations: [] }))
  }

  /** Pays by ERC-3009 with the nonce that the same payer has used with Permit2, or may use. */
  async #payByToken({ number, payer }: Case, report: (violation: string) => void): Promise<void> {
    const [kind] = kinds
    const [target] = TARGETS
    const asked = await this.#market.ask(target!)
    const entry = asked.accepts.find((offered) => kind!.takes(offered))!
    const payment = await kind!.pay(payer, entry, this.#terms(entry, `${number} first`))
    const context = { kind, target } as MutationContext
    const { request, sale } = this.#write(payment, { asked, entry, context, mutations: [] })
    const name = paymentOf(payer.address, false)
    const told = await this.#market.present(target!, name, request)
    this.#sales.set(name, sale)
    if (!told.isGood) report(`with its nonce, ERC-3009 was refused: ${told.reason}`)
  }

  #draw(number: number): Case {
    const random = createRandom(Number.parseInt(this.#hash(String(number)).slice(2, 10), 16))
    const kind = random.pick(kinds)
    const target = random.pick(TARGETS.filter((one) => suits(kind, one)))
    const isHonest = random.chance(HONEST)
    const groups = mutationsOf(kind)
      .map((group) =>
        group.filter(
          ({ fits, verdict }) =>
            (fits?.(target, kind) ?? true) && (!isHonest || verdict === 'accepted'),
        ),
      )
      .filter((group) => group.length > 0)
    const count = Math.floor(random.next() * MOST_MUTATIONS) + (isHonest ? 0 : 1)
    const manner = random.pick(MANNERS)
    const mutations: Mutation[] = []
    if (manner.startsWith('changed'))
      mutations.push(random.pick(twinsOf(kind).filter(({ fits }) => fits?.(target, kind) ?? true)))
    else
      for (let index = 0; index < count; index++) {
        const mutation = random.pick(random.pick(groups))
        if (!mutations.some((other) => overlap(mutation, other))) mutations.push(mutation)
      }
    mutations.sort((one, other) => STAGES.indexOf(one.stage) - STAGES.indexOf(other.stage))
    for (const { name } of mutations) this.#drawn.set(name, (this.#drawn.get(name) ?? 0) + 1)
    return { number, random, payer: this.#payer(number), kind, target, mutations, manner }
  }

  /** Writes a payment down as a request, changed on every stage. */
  #write(
    payment: PaymentPayload,
    {
      asked,
      entry,
      mutations,
      context,
    }: {
      readonly asked: Asked
      readonly entry: PaymentRequirements
      readonly mutations: readonly Mutation[]
      readonly context: MutationContext
    },
  ): Written {
    const { kind, target } = context
    const { isApi } = target
    const whole = { ...payment, resource: asked.resource }
    const isCharged = kind.shape === 'upto' && target.path.endsWith('/settle')
    const paymentRequirements = isCharged
      ? { ...entry, amount: String((BigInt(entry.amount) * 3n) / 10n) }
      : entry
    // By way of JSON, so that the payment and what the shop asks for share no object.
    const document = JSON.parse(
      JSON.stringify(isApi ? { paymentPayload: whole, paymentRequirements } : whole),
    ) as Document
    for (const mutation of mutations)
      if (mutation.stage === 'document') mutation.change(document, context)
    const charge = isApi
      ? memberAt(document, 'paymentRequirements.amount')
      : chargeOf(asked.path, entry)
    const isAmount = typeof charge === 'string' && /^\d+$/.test(charge)
    const price = isAmount ? BigInt(charge) : -1n
    const sale = { price, asset: entry.asset, payTo: entry.payTo }
    let text: string | Buffer = JSON.stringify(document)
    for (const mutation of mutations)
      if (mutation.stage === 'text') text = mutation.change(String(text), context)
    const { path } = asked
    let request: WireRequest = isApi
      ? { path, headers: this.#market.apiHeaders(target.project), body: text }
      : { path, headers: [[HEADER, Buffer.from(text).toString('base64')]] }
    for (const mutation of mutations)
      if (mutation.stage === 'request') request = mutation.change(request, context)
    return { request, sale }
  }

  /** The same payment at another route of the same price. */
  #elsewhere({ request, sale }: Written, entry: PaymentRequirements, target: Target): Written {
    const path =
      target.charges === undefined
        ? request.path.startsWith('/report')
          ? '/stream'
          : '/report'
        : request.path.startsWith('/charged/3')
          ? '/charged/10'
          : '/charged/3'
    const price = BigInt(chargeOf(path, entry))
    return { request: { ...request, path }, sale: { ...sale, price } }
  }

  #terms(entry: PaymentRequirements, label: string): Terms {
    const now = BigInt(Math.floor(Date.now() / 1000))
    return {
      amount: BigInt(entry.amount),
      payTo: entry.payTo as Hex,
      token: entry.asset as Hex,
      chainId: 84532,
      validAfter: now - 600n,
      validBefore: now + BigInt(entry.maxTimeoutSeconds),
      nonce: this.#hash(label),
    }
  }

  #payer(label: number | string): TestPayer {
    const privateKey = this.#hash(`payer ${label}`)
    return { privateKey, address: privateKeyToAddress(privateKey) }
  }

  #hash(label: string): Hex {
    return keccak256(stringToHex(`${this.#settings.seed} ${label}`))
  }

  /** Makes the accounts of those whose kind of payment has its own. */
  async #withAccounts(drawn: readonly Case[]): Promise<readonly Case[]> {
    const all = new Map<number, Case>()
    for (const kind of kinds) {
      const own = drawn.filter((one) => one.kind === kind)
      for (let start = 0; start < own.length; start += MADE_AT_ONCE) {
        const some = own.slice(start, start + MADE_AT_ONCE)
        const owners = some.map(({ payer }) => payer.address)
        const accounts = (await kind.accountsOf?.(this.#world.devnet, owners)) ?? owners
        for (const [index, one] of some.entries())
          all.set(one.number, { ...one, payer: { ...one.payer, address: accounts[index]! } })
      }
    }
    return drawn.map(({ number }) => all.get(number)!)
  }

  /** One after the other: all money comes from one account. */
  #fund(addresses: readonly Hex[], token = this.#world.devnet.asset as Hex): Promise<void> {
    this.#funded = this.#funded.then(() => this.#mint(addresses, token))
    return this.#funded
  }

  async #mint(addresses: readonly Hex[], token: Hex): Promise<void> {
    const { devnet } = this.#world
    for (let start = 0; start < addresses.length; start += FUNDED_AT_ONCE) {
      const some = addresses.slice(start, start + FUNDED_AT_ONCE)
      const mints = some.map((address) => ({ to: token, data: encodeMint(address, FUNDS) }))
      const call = { to: devnet.multicall3, data: aggregate(mints) }
      const transaction = { from: MINTER, gas: '0x1c00000', ...call }
      await untilMined(devnet, await askNode(devnet, 'eth_sendTransaction', transaction))
    }
  }

  /** A buyer, of whom there are some, who is served all the time, whatever others present. */
  async #serveHonest(buyer: number, isOver: () => boolean): Promise<void> {
    const [kind] = kinds
    const [target] = TARGETS
    for (let index = 0; !isOver(); index++) {
      const payers = Array.from({ length: 50 }, (_, next) =>
        this.#payer(`honest ${buyer} ${index} ${next}`),
      )
      await this.#fund(payers.map(({ address }) => address))
      for (const payer of payers) {
        if (isOver()) return
        const asked = await this.#market.ask(target!)
        const [entry] = asked.accepts
        const payment = await kind!.pay(payer, entry!, this.#terms(entry!, payer.address))
        const context = { kind, target } as MutationContext
        const { request, sale } = this.#write(payment, {
          ...{ asked, context },
          entry: entry!,
          mutations: [],
        })
        const name = paymentOf(payer.address, false)
        this.#sales.set(name, sale)
        const told = await this.#market.present(target!, name, request)
        this.#honest += 1
        if (!told.isGood)
          this.#violations.push(`an honest buyer was refused: ${told.status} ${told.reason}`)
      }
    }
  }

  /** What the chain, the ledger and the gateway's own process say in the end. */
  async #judge(): Promise<readonly string[]> {
    const world = this.#world
    const { answers, handled } = this.#market
    const evidence = await world.evidence()
    const { devnet } = world
    const { merchants } = this.#settings
    const read = [devnet.asset, ...OTHER_ASSETS].flatMap((asset) =>
      merchants.map(async (merchant) => {
        const moved = await readTransfers(devnet.rpcUrl, { asset, merchant })
        return moved.map((transfer) => ({ ...transfer, asset, payTo: merchant }))
      }),
    )
    // A payer pays once by Permit2, and once by the token: these name his payments, whatever was changed of them.
    const moved = (await Promise.all(read)).flat().map((transfer) => {
      const authorization = paymentOf(transfer.from, transfer.isByPermit === true)
      return { ...transfer, authorization }
    })
    const records = evidence.records.map((record) => {
      const isPermit2 = sameHex(record.contract, devnet.permit2)
      return { ...record, nonce: isPermit2 ? PERMIT2_NAME : ('' as Hex) }
    })
    // Where nothing is charged, the ledger alone has the payment.
    const free = records
      .filter(({ state, charged }) => state === 'settled' && charged === 0n)
      .map(({ from, asset, payTo }) => {
        const authorization = paymentOf(from, true)
        return { authorization, from, transaction: '0x' as const, value: 0n, asset, payTo }
      })
    const transfers = [...moved, ...free]
    const prices = new Map([...this.#sales].map(([name, { price }]) => [name, price]))
    const astray = transfers
      .filter(({ authorization, asset, payTo }) => {
        const sale = this.#sales.get(authorization)
        return sale && !(sameHex(sale.asset, asset) && sameHex(sale.payTo, payTo))
      })
      .map(({ authorization }) => `another merchant was paid, or another token: ${authorization}`)
    const found = findViolations({ ...evidence, answers, transfers: moved, records, prices })
    const paid = new Set(transfers.map(({ authorization }) => authorization))
    const unpaid = answers
      .filter(({ visit, authorization }) => handled.has(visit) && !paid.has(authorization))
      .map(({ authorization }) => `a handler ran, and nothing was paid: ${authorization}`)
    const others = records
      .filter(({ state }) => state !== 'settled')
      .map((record) => `a record is left ${record.state}: ${authorizationOf(record)}`)
    return [
      ...[...found, ...unpaid, ...others, ...astray].map((one) => this.#withCase(one)),
      ...(await this.#needlessTransactions(new Set(moved.map((one) => one.transaction)))),
      ...this.#needlessRows(transfers.length),
    ]
  }

  #withCase(violation: string): string {
    const [name = ''] = /0x[0-9a-f]{40}(?=:)/.exec(violation) ?? []
    return `${this.#cases.get(name) ?? 'the honest buyer'}: ${violation}`
  }

  /** Transactions that moved nothing, and what moved to others. */
  async #needlessTransactions(known: ReadonlySet<Hex>): Promise<readonly string[]> {
    const { devnet, relayers } = this.#world
    const { merchants } = this.#settings
    let sent = 0
    for (const { address } of relayers)
      sent += Number(await askNode(devnet, 'eth_getTransactionCount', address, 'latest'))
    const filter = {
      address: [devnet.asset, ...OTHER_ASSETS],
      fromBlock: '0x0',
      topics: [TRANSFER],
    }
    const moved = await askNode<{ topics: Hex[]; transactionHash: Hex }[]>(
      devnet,
      'eth_getLogs',
      filter,
    )
    const elsewhere = moved.filter(
      ({ topics: [, from, to] }) =>
        BigInt(from!) !== 0n && !merchants.some((merchant) => BigInt(to!) === BigInt(merchant)),
    )
    return [
      ...(sent === known.size
        ? []
        : [`${sent} transactions were sent, ${known.size} of them paid`]),
      ...elsewhere.map(({ transactionHash }) => `money moved elsewhere by ${transactionHash}`),
    ]
  }

  #needlessRows(payments: number): readonly string[] {
    const database = new Database(this.#world.ledger, { readOnly: true })
    try {
      const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
      return tables.flatMap(({ name }) => {
        const row = database.prepare(`SELECT count(*) AS rows FROM "${String(name)}"`).get()
        const rows = Number(row?.['rows'])
        const links = this.#market.answers.length
        const isLinks = String(name).includes('checkout')
        const most = MOST_OTHER_ROWS + (isLinks ? links : 2 * payments)
        return rows > most ? [`the ledger has ${rows} rows of ${String(name)}`] : []
      })
    } finally {
      database.close()
    }
  }
}

function changeTerms(
  terms: Terms,
  mutations: readonly Mutation[],
  context: MutationContext,
): Terms {
  return mutations.reduce(
    (changed, mutation) =>
      mutation.stage === 'terms' ? mutation.change(changed, context) : changed,
    terms,
  )
}

function verdictOf({ verdict }: Mutation, context: MutationContext): Verdict {
  return typeof verdict === 'function' ? verdict(context) : verdict
}

/** Whether a kind of payment can be asked for there. */
const suits = ({ shape }: Kind, { isApi, charges }: Target): boolean =>
  isApi || (shape === 'upto') === (charges !== undefined)

/** What a route takes of its price. */
function chargeOf(path: string, { amount }: PaymentRequirements): string {
  const cents = /^\/charged\/(\d+)/i.exec(path)?.[1]
  return cents === undefined ? amount : String((BigInt(amount) * BigInt(cents)) / 10n)
}

const PERMIT2_NAME = 'permit2' as Hex

/** Names the one payment of a payer by Permit2, or by a token. */
function paymentOf(from: string, isPermit2: boolean): string {
  return authorizationOf({ from, nonce: isPermit2 ? PERMIT2_NAME : '' })
}
