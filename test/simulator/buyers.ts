/** Those who buy: honest ones, and those who give up, repeat, overtake, change a member, or present elsewhere. */
import { addressWord, word } from '../../src/core/chain/abi.js'
import type {
  Hex,
  PaymentRequired,
  PaymentRequirements,
} from '../../src/shared/protocol/payment.js'
import { TOKEN, TRANSFER_BY_KEY, type Signed } from './chain.js'
import type { Chance } from './chance.js'
import type { Answered, GatewayProcess } from './gateway-process.js'
import { authorizationOf, signAuthorization } from './signing.js'
import type { World } from './world.js'

/** What is sold, and what it costs (units). A path below `/free` charges nobody. */
export const GOODS = {
  '/good': 10_000n,
  '/other': 10_000n,
  '/dear': 1_000_000n,
  '/upfront': 20_000n,
  '/free/refused': 10_000n,
} as const

export type Path = keyof typeof GOODS

const KINDS = {
  honest: 42,
  again: 20,
  givesUp: 16,
  twice: 8,
  elsewhere: 5,
  overtaken: 4,
  altered: 5,
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
  /** The answers that brought a good, by what they brought. */
  readonly received: Set<string>
  /** What the merchant has signed to pay it back. */
  readonly refunds: Signed[]
  /** Whether an answer did not come: its process has died. */
  isCut: boolean
  /** Whether a good came before the chain had its payment. */
  isEarly: boolean
  /** What the last answer was. */
  last: string
  /** The transaction by which a stranger sends its authorization. */
  overtakenBy?: string
}

type Known = 'scheduler' | 'chain' | 'signed' | 'accounts' | 'seconds' | 'trace'

export interface Market extends Pick<World, Known> {
  readonly chance: Chance
  readonly gateways: readonly GatewayProcess[]
}

/** How long a client waits for an answer (ms). */
const PATIENCE_MS = 60_000

/** How often an honest buyer presents a payment, and the longest pause between (ms). */
const MOST_ATTEMPTS = 400
const LONGEST_PAUSE_MS = 8000

/** How long an offer is used again (ms). */
const OFFER_MS = 20_000

export class Buyers {
  readonly #market: Market
  readonly #offers = new Map<string, { readonly at: number; readonly document: PaymentRequired }>()

  constructor(market: Market) {
    this.#market = market
  }

  /** Buys once. Ends when its buyer has nothing left to try. */
  async buy(number: number, kind = this.#market.chance.pick(LOTS)): Promise<Purchase | undefined> {
    const { chance } = this.#market
    const path = chance.pick(Object.keys(GOODS) as Path[])
    const document = await this.#offer(path)
    const [accepted] = document?.accepts ?? []
    if (document === undefined || accepted === undefined) return undefined
    const { signed, header } = this.#sign(document, accepted, kind === 'altered')
    const purchase: Purchase = {
      number,
      kind,
      path,
      signed,
      received: new Set(),
      refunds: [],
      isCut: false,
      isEarly: false,
      last: '',
    }
    this.#tell(purchase, `${kind} signs ${signed.nonce.slice(0, 10)} for ${path}`)
    await this.#present(purchase, header)
    return purchase
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
        await this.#ask(purchase, header, { patienceMs: chance.between(1, 3000) })
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
          await this.#ask(purchase, header, { patienceMs: chance.between(1, 3000) })
        await Promise.all([
          this.#presentElsewhere(purchase, header),
          scheduler.wait(chance.between(0, 5000)).then(() => this.#insist(purchase, header)),
        ])
        return
      case 'overtaken':
        scheduler.after(chance.between(0, 3000), () => this.#overtake(purchase))
        return this.#insist(purchase, header)
    }
  }

  /** A stranger has seen a payment, and presents it for something else. */
  async #presentElsewhere(purchase: Purchase, header: string): Promise<void> {
    const { chance, scheduler } = this.#market
    await scheduler.wait(chance.between(0, 5000))
    const path = chance.pick(Object.keys(GOODS) as Path[])
    await this.#ask(purchase, header, { path, patienceMs: PATIENCE_MS })
  }

  /** Presents a payment until it is answered for good. */
  async #insist(purchase: Purchase, header: string): Promise<void> {
    const { scheduler, chance } = this.#market
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const answer = await this.#ask(purchase, header, { patienceMs: PATIENCE_MS })
      if (answer !== undefined && answer.status !== 503 && answer.status !== 409) return
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
    { path = purchase.path, patienceMs }: { path?: Path; patienceMs: number },
  ): Promise<Answered | undefined> {
    const { chance, gateways } = this.#market
    const gateway = chance.pick(gateways)
    this.#tell(purchase, `presents it at ${gateway.life.name} for ${path}`)
    const answer = await gateway.ask({
      url: path,
      headers: { 'payment-signature': header },
      patienceMs,
    })
    const said = answer?.status === 402 ? ` ${errorOf(answer.body)}` : codeOf(answer)
    purchase.last = answer === undefined ? 'no answer' : `${answer.status}${said}`
    this.#tell(purchase, `gets ${purchase.last} from ${gateway.life.name}`)
    purchase.isCut ||= answer === undefined
    if (answer?.status === 200) {
      purchase.received.add(`${path} ${answer.body}`)
      purchase.isEarly ||= !this.#market.chain.everUsed.has(purchase.signed.nonce)
    }
    return answer
  }

  async #offer(path: Path): Promise<PaymentRequired | undefined> {
    const { scheduler, gateways, chance } = this.#market
    const known = this.#offers.get(path)
    if (known !== undefined && scheduler.elapsed - known.at < OFFER_MS) return known.document
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const answer = await chance.pick(gateways).ask({ url: path, patienceMs: PATIENCE_MS })
      if (answer?.status === 402) {
        const document = JSON.parse(answer.body) as PaymentRequired
        this.#offers.set(path, { at: scheduler.elapsed, document })
        return document
      }
      await scheduler.wait(500)
    }
    return undefined
  }

  #sign(document: PaymentRequired, accepted: PaymentRequirements, isAltered: boolean) {
    const { chance, accounts, signed: all, seconds } = this.#market
    const now = BigInt(seconds())
    const terms = {
      to: accepted.payTo.toLowerCase(),
      value: BigInt(accepted.amount),
      validAfter: now - 600n,
      validBefore: now + BigInt(accepted.maxTimeoutSeconds),
      nonce: `0x${chance.bytes(32).toString('hex')}`,
    }
    if (isAltered) alter(terms, chance)
    const signed = signAuthorization(chance.pick(accounts), terms)
    all.set(signed.nonce, signed)
    const payload = { authorization: authorizationOf(signed), signature: signed.hex }
    const { resource } = document
    const payment = { x402Version: 2, resource, accepted, payload }
    return { signed, header: Buffer.from(JSON.stringify(payment)).toString('base64') }
  }

  /** Somebody else sends the authorization himself. */
  #overtake(purchase: Purchase): void {
    const { chain, chance } = this.#market
    const { from, to, value, validAfter, validBefore, nonce, signature } = purchase.signed
    const window = word(value) + word(validAfter) + word(validBefore)
    const words = addressWord(from as Hex) + addressWord(to as Hex) + window + nonce.slice(2)
    const hash = `0x${chance.bytes(32).toString('hex')}` as const
    purchase.overtakenBy = hash
    this.#tell(purchase, 'a stranger sends its authorization to the chain')
    chain.pool.set(hash, {
      hash,
      from: `0x${chance.bytes(20).toString('hex')}`,
      nonce: 0,
      to: TOKEN,
      data: `${TRANSFER_BY_KEY}${words}${signature}`,
      gas: 100_000n,
      maxFee: 10n ** 12n,
    })
  }

  #tell({ number }: Purchase, line: string): void {
    this.#market.trace.tell(line, number)
  }
}

/** Changes one member, so that the payment is not what was offered. */
function alter(terms: { to: string; value: bigint; validBefore: bigint }, chance: Chance): void {
  const kind = chance.below(3)
  if (kind === 0) terms.value -= 1n
  else if (kind === 1) terms.to = `0x${chance.bytes(20).toString('hex')}`
  else terms.validBefore -= 900n
}

function errorOf(body: string): string {
  return String((JSON.parse(body) as { error?: string }).error)
}

function codeOf(answer: Answered | undefined): string {
  if (answer === undefined || answer.status === 200) return ''
  try {
    return ` ${String((JSON.parse(answer.body) as { code?: string }).code)}`
  } catch {
    return ''
  }
}
