/** Those who buy: honest ones, and those who give up, repeat, overtake, change a member, copy, or present elsewhere. */
import type {
  Hex,
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
} from '../../src/shared/protocol/payment.js'
import type { Signed } from './chain.js'
import type { Chance } from './chance.js'
import type { Answer } from '../faults/oracle.js'
import { authorizationOf } from '../faults/authorization.js'
import { goodIn, type Answered, type GatewayProcess } from './gateway-process.js'
import { PROJECT_TOKEN } from './refunds.js'
import { signAuthorization, signPermit, type Account, type Terms } from './signing.js'
import { BLOCK_MS, type World } from './world.js'

/** What is sold, and what it costs (units): at most, if it is metered. A path below `/free` charges nobody. */
export const GOODS = {
  '/good': 10_000n,
  '/other': 10_000n,
  '/dear': 1_000_000n,
  '/upfront': 10_000n,
  '/metered': 50_000n,
  '/free/refused': 10_000n,
} as const

const PATHS = Object.keys(GOODS) as (keyof typeof GOODS)[]

const LINK = '/pay/'
export type LinkPath = `${typeof LINK}${string}`
export type Path = keyof typeof GOODS | LinkPath

/** What a payment link costs (units): the same as goods do. */
const LINK_UNITS = 10_000n

export function isLink(path: Path): path is LinkPath {
  return path.startsWith(LINK)
}

export function priceOf(path: Path): bigint {
  return isLink(path) ? LINK_UNITS : GOODS[path]
}

const KINDS = {
  honest: 38,
  again: 19,
  givesUp: 16,
  twice: 8,
  elsewhere: 7,
  copied: 4,
  overtaken: 4,
  altered: 4,
} as const

/** Those that are `late` come once nothing goes wrong any more. */
type Kind = keyof typeof KINDS | 'late'
const LOTS = Object.entries(KINDS).flatMap(([kind, lots]) => Array<Kind>(lots).fill(kind as Kind))

/** A payment, and what its buyers have seen. */
export interface Purchase {
  readonly number: number
  readonly kind: Kind
  readonly path: Path
  readonly signed: Signed
  /** What it accepts of its offer. */
  readonly accepted: PaymentRequirements
  /** Where it was presented as a payment for that. */
  readonly shownFor: Set<Path>
  /** The answers that brought a good, by what they brought. */
  readonly received: Set<string>
  /** All answers, in their order. */
  readonly answers: Answer[]
  /** What the merchant has signed to pay it back. */
  readonly refunds: Signed[]
  /** Whether somebody else got what it buys. */
  isStolen: boolean
  /** Whether an error came that says nothing. */
  isUnnamed: boolean
  /** Whether a good came before the chain had its payment. */
  isEarly: boolean
  /** What the last answer was. */
  last: string
  /** The transaction by which a stranger sends its authorization. */
  overtakenBy?: string
}

type Known = 'scheduler' | 'chain' | 'accounts' | 'seconds' | 'trace'

export interface Market extends Pick<World, Known> {
  readonly chance: Chance
  readonly gateways: readonly GatewayProcess[]
}

/** A request that presents a payment. */
interface Presentation {
  /** Where. @defaultValue where its good is */
  readonly path?: Path
  readonly patienceMs: number
  /** Whether somebody else presents it, from another address. */
  readonly isStranger?: boolean
}

const STRANGERS_ADDRESS = '198.51.100.7'

/** How long somebody waits until a payment is on the chain, and can be copied (ms). */
const COPY_MS = 120_000

/** How often a payment is presented where it does not belong. */
const COPIES = 3

/** How long a client waits for an answer (ms). */
const PATIENCE_MS = 60_000

/** How often an honest buyer presents a payment, and the longest pause between (ms). */
const MOST_ATTEMPTS = 400
const LONGEST_PAUSE_MS = 8000

/** How long an offer is used again (ms). */
const OFFER_MS = 20_000

export class Buyers {
  readonly #market: Market
  #visits = 0
  /** The payment link that was made last, which others may be about to pay. */
  #link: LinkPath | undefined
  readonly #offers = new Map<string, { readonly at: number; readonly document: PaymentRequired }>()

  constructor(market: Market) {
    this.#market = market
  }

  /** Buys once. Ends when its buyer has nothing left to try. */
  async buy(number: number, kind = this.#market.chance.pick(LOTS)): Promise<Purchase | undefined> {
    const { chance } = this.#market
    const good = this.#pickGood()
    const path = good ?? (await this.#pickLink(kind))
    const document = path && (await this.#offer(path))
    if (document === undefined || path === undefined) return undefined
    const offered = chance.pick(document.accepts)
    const accepted = chance.onceIn(4) ? withoutOfferId(offered) : offered
    const { signed, header } = this.#sign(document, accepted, kind === 'altered')
    const purchase: Purchase = {
      number,
      kind,
      path,
      signed,
      accepted,
      shownFor: new Set([path]),
      received: new Set(),
      answers: [],
      refunds: [],
      isStolen: false,
      isUnnamed: false,
      isEarly: false,
      last: '',
    }
    this.#tell(
      purchase,
      `${kind} signs ${signed.nonce.slice(0, 10)} for ${path}, ${wayOf(accepted)}`,
    )
    await this.#present(purchase, header)
    return purchase
  }

  /** @returns `undefined` for a payment link. */
  #pickGood(): keyof typeof GOODS | undefined {
    return this.#market.chance.pick([...PATHS, undefined])
  }

  /** How long somebody waits who gives up (ms): often until the payment is just mined, and its answer is not out yet. */
  #shortPatience(): number {
    const { chance, scheduler } = this.#market
    if (chance.onceIn(3)) return chance.between(1, 3000)
    const untilBlock = BLOCK_MS - (scheduler.elapsed % BLOCK_MS)
    return untilBlock + chance.below(2) * BLOCK_MS + chance.between(1, 400)
  }

  /** Something else, most often at the same price: nothing that was signed tells the two apart. */
  #pickElsewhere(path: Path): Path {
    const { chance } = this.#market
    const all: readonly Path[] = [...PATHS, ...(this.#link ? [this.#link] : [])]
    const others = all.filter((one) => one !== path)
    const equal = others.filter((one) => priceOf(one) === priceOf(path))
    return chance.pick(equal.length > 0 && !chance.onceIn(4) ? equal : others)
  }

  /** A new payment link, or one that somebody else may be paying. */
  async #pickLink(kind: Kind): Promise<LinkPath | undefined> {
    const { chance, scheduler, gateways } = this.#market
    if (this.#link !== undefined && kind !== 'late' && chance.onceIn(2)) return this.#link
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const answer = await chance.pick(gateways).ask({
        method: 'POST',
        url: '/api/v2/merchant/checkouts',
        headers: { 'x-project-identify-token': PROJECT_TOKEN, 'content-type': 'application/json' },
        body: JSON.stringify({ amount: String(Number(LINK_UNITS) / 1e6), currency: 'USD' }),
        patienceMs: PATIENCE_MS,
      })
      if (answer?.status === 201) {
        this.#link = `${LINK}${(JSON.parse(answer.body) as { id: string }).id}`
        return this.#link
      }
      await scheduler.wait(500)
    }
    return undefined
  }

  async #present(purchase: Purchase, header: string): Promise<void> {
    const { chance, scheduler } = this.#market
    switch (purchase.kind) {
      case 'honest':
      case 'late':
      case 'altered':
        return this.#insist(purchase, header)
      case 'again':
        // Once it has the good, it wants another.
        for (let times = 0; times < 3; times++) {
          await this.#insist(purchase, header)
          await scheduler.wait(chance.between(1, 60_000))
        }
        return
      case 'givesUp':
        await this.#ask(purchase, header, { patienceMs: this.#shortPatience() })
        // Some come back, long after, and some of them twice at once.
        if (!chance.onceIn(2)) return
        await scheduler.wait(chance.between(100, 120_000))
        if (chance.onceIn(2)) return this.#insistTwice(purchase, header)
        return this.#insist(purchase, header)
      case 'twice':
        return this.#insistTwice(purchase, header)
      case 'elsewhere':
        // Its buyer may give up for a while.
        if (chance.onceIn(2))
          await this.#ask(purchase, header, { patienceMs: this.#shortPatience() })
        await Promise.all([
          this.#presentElsewhere(purchase, header),
          scheduler.wait(chance.between(0, 15_000)).then(() => this.#insist(purchase, header)),
        ])
        return
      case 'copied':
        return void (await Promise.all([
          this.#copy(purchase, header),
          this.#ask(purchase, header, { patienceMs: this.#shortPatience() })
            .then(() => scheduler.wait(chance.between(0, 60_000)))
            .then(() => this.#insist(purchase, header)),
        ]))
      case 'overtaken':
        scheduler.after(chance.between(0, 3000), () => this.#overtake(purchase))
        return this.#insist(purchase, header)
    }
  }

  /** A payment is presented for something else, as if it had been signed for that: no signature names the resource. */
  async #presentElsewhere(purchase: Purchase, header: string): Promise<void> {
    const { chance, scheduler } = this.#market
    await scheduler.wait(chance.between(0, 5000))
    const path = this.#pickElsewhere(purchase.path)
    const isRenamed = !chance.onceIn(4)
    if (isRenamed) purchase.shownFor.add(path)
    const shown = isRenamed ? renamed(header, path) : header
    for (let times = 0; times < COPIES; times++) {
      const answer = await this.#ask(purchase, shown, { path, patienceMs: PATIENCE_MS })
      if (answer !== undefined && !isToRepeat(answer)) return
      await scheduler.wait(chance.between(500, 3000))
    }
  }

  /** Somebody else finds a payment on the chain, and presents it as its own, with an offer that it has asked for. */
  async #copy(purchase: Purchase, header: string): Promise<void> {
    const { chance, scheduler, chain } = this.#market
    const end = scheduler.elapsed + COPY_MS
    while (!chain.everUsed.has(purchase.signed.nonce)) {
      if (scheduler.elapsed > end) return
      await scheduler.wait(500)
    }
    const document = await this.#askPrice(purchase.path)
    const accepted = document?.accepts.find((one) => wayOf(one) === wayOf(purchase.accepted))
    if (accepted === undefined) return
    const copied = encode({ ...decode(header), accepted })
    for (let times = 0; times < COPIES; times++) {
      await this.#ask(purchase, copied, { isStranger: true, patienceMs: PATIENCE_MS })
      await scheduler.wait(chance.between(1, 10_000))
    }
  }

  /** Presents a payment until it is answered for good. */
  async #insist(purchase: Purchase, header: string): Promise<void> {
    const { scheduler, chance } = this.#market
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const answer = await this.#ask(purchase, header, { patienceMs: PATIENCE_MS })
      if (answer !== undefined && !isToRepeat(answer)) return
      const asked = Number(answer?.headers['retry-after'] ?? 0) * 1000
      const pause = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** Math.min(attempt, 5))
      await scheduler.wait(Math.min(60_000, Math.max(asked, pause)) + chance.between(0, 200))
    }
  }

  async #insistTwice(purchase: Purchase, header: string): Promise<void> {
    await Promise.all([this.#insist(purchase, header), this.#insist(purchase, header)])
  }

  async #ask(
    purchase: Purchase,
    header: string,
    { path = purchase.path, patienceMs, isStranger = false }: Presentation,
  ): Promise<Answered | undefined> {
    const { chance, gateways, chain } = this.#market
    const gateway = chance.pick(gateways)
    const visit = String(++this.#visits)
    const who = isStranger ? 'a stranger ' : ''
    this.#tell(purchase, `${who}presents it at ${gateway.life.name} for ${path}`)
    const answer = await gateway.ask({
      url: path,
      headers: { 'payment-signature': header },
      patienceMs,
      visit,
      onLost: () => {
        this.#tell(purchase, `${who}loses what ${gateway.life.name} answers`)
      },
      ...(isStranger && { remoteAddress: STRANGERS_ADDRESS }),
    })
    const reason = reasonOf(answer)
    if (!isStranger || answer?.status === 200)
      purchase.answers.push({
        authorization: authorizationOf(purchase.signed),
        visit,
        path,
        status: answer?.status ?? 0,
        delivered: answer?.status === 200,
        reason,
        good: answer?.status === 200 ? goodIn(path, answer.body) : undefined,
        amount: /"charged":"(\d+)"/.exec(answer?.body ?? '')?.[1],
        // The same good may be given again, and is judged by itself.
        hasKey: answer?.status === 200,
        gaveUp: patienceMs < PATIENCE_MS,
      })
    const got = answer === undefined ? 'no answer' : [answer.status, reason].join(' ').trim()
    this.#tell(purchase, `${who}gets ${got} from ${gateway.life.name}`)
    purchase.isStolen ||= isStranger && answer?.status === 200
    if (isStranger) return answer
    purchase.last = got
    purchase.isUnnamed ||= answer?.status === 500 && !path.startsWith('/free')
    if (answer?.status === 200) {
      purchase.received.add(`${path} ${answer.body}`)
      const isCharged = !answer.body.includes('"charged":"0"')
      purchase.isEarly ||= isCharged && !chain.everUsed.has(purchase.signed.nonce)
    }
    return answer
  }

  async #offer(path: Path): Promise<PaymentRequired | undefined> {
    const { scheduler } = this.#market
    const known = this.#offers.get(path)
    if (known !== undefined && scheduler.elapsed - known.at < OFFER_MS) return known.document
    const document = await this.#askPrice(path)
    if (document !== undefined) this.#offers.set(path, { at: scheduler.elapsed, document })
    return document
  }

  async #askPrice(path: Path): Promise<PaymentRequired | undefined> {
    const { scheduler, gateways, chance } = this.#market
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const answer = await chance.pick(gateways).ask({ url: path, patienceMs: PATIENCE_MS })
      if (answer?.status === 402) return JSON.parse(answer.body) as PaymentRequired
      // Somebody else was faster to pay a link.
      if (answer !== undefined && !isToRepeat(answer)) return undefined
      await scheduler.wait(500)
    }
    return undefined
  }

  #sign(document: PaymentRequired, accepted: PaymentRequirements, isAltered: boolean) {
    const { chance, accounts, chain, seconds } = this.#market
    const now = BigInt(seconds())
    const terms = {
      to: accepted.payTo.toLowerCase(),
      value: BigInt(accepted.amount),
      validAfter: now - 600n,
      validBefore: now + BigInt(accepted.maxTimeoutSeconds),
      nonce: `0x${chance.bytes(32).toString('hex')}`,
    }
    if (isAltered) alter(terms, chance)
    // Where a facilitator settles, what a contract has signed is known as its buyer's by the offer alone.
    const isTied = accepted.extra?.['offerId'] !== undefined
    const payer = chance.pick(accounts.filter(({ hasCode }) => isTied || !hasCode))
    const { signed, payload } = signFor(accepted, payer, terms)
    chain.note(signed)
    const { resource } = document
    return { signed, header: encode({ x402Version: 2, resource, accepted, payload }) }
  }

  /** Somebody else sends the authorization himself. */
  #overtake(purchase: Purchase): void {
    const { chain, chance } = this.#market
    const { to, data } = purchase.signed.call
    const hash = `0x${chance.bytes(32).toString('hex')}` as const
    purchase.overtakenBy = hash
    this.#tell(purchase, 'a stranger sends its authorization to the chain')
    chain.pool.set(hash, {
      hash,
      from: `0x${chance.bytes(20).toString('hex')}`,
      nonce: 0,
      to,
      data: data as Hex,
      gas: 100_000n,
      maxFee: 10n ** 12n,
    })
  }

  #tell({ number }: Purchase, line: string): void {
    this.#market.trace.tell(line, number)
  }
}

/** Signs what an entry of an offer asks for. */
function signFor({ scheme, extra }: PaymentRequirements, account: Account, terms: Terms) {
  if (scheme === 'upto')
    return signPermit(account, terms, String(extra?.['facilitatorAddress']).toLowerCase())
  if (extra?.['assetTransferMethod'] === 'permit2') return signPermit(account, terms)
  return signAuthorization(account, terms)
}

/** A payment that says it is for something else. */
function renamed(header: string, path: Path): string {
  const payment = decode(header)
  const resource = { ...payment.resource, url: `https://shop.example${path}` }
  return encode({ ...payment, resource })
}

/** What clients send that do not send back what ties a payment to its offer. */
function withoutOfferId({ extra, ...entry }: PaymentRequirements): PaymentRequirements {
  const { offerId: _offerId, ...kept } = extra ?? {}
  return { ...entry, extra: kept }
}

/** How an entry of an offer is paid. */
function wayOf({ scheme, extra }: PaymentRequirements): string {
  return extra?.['assetTransferMethod'] === 'permit2' ? `${scheme} by Permit2` : scheme
}

function encode(payment: object): string {
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}

function decode(header: string): PaymentPayload {
  return JSON.parse(Buffer.from(header, 'base64').toString()) as PaymentPayload
}

/** Changes one member, so that the payment is not what was offered. */
function alter(terms: { to: string; value: bigint; validBefore: bigint }, chance: Chance): void {
  const kind = chance.below(3)
  if (kind === 0) terms.value -= 1n
  else if (kind === 1) terms.to = `0x${chance.bytes(20).toString('hex')}`
  else terms.validBefore -= 900n
}

/** Whether a payment is not decided by an answer: it is to be presented again. */
function isToRepeat({ status, body }: Answered): boolean {
  if (status === 409) return !body.includes('"checkout_paid"')
  return (
    status === 503 || status === 429 || (status === 402 && errorOf(body) === 'duplicate_settlement')
  )
}

function errorOf(body: string): string {
  return String((JSON.parse(body) as { error?: string }).error)
}

/** Why an answer brings nothing, if it says so. */
function reasonOf(answer: Answered | undefined): string | undefined {
  if (answer === undefined || answer.status === 200) return undefined
  try {
    const { error, code = error } = JSON.parse(answer.body) as { error?: string; code?: string }
    return code
  } catch {
    return undefined
  }
}
