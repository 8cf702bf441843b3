import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAddress } from 'viem/accounts'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { authorizationOf } from '../faults/authorization.js'
import { isOpen, type Answer } from '../faults/oracle.js'
import type { Visit, World } from '../faults/world.js'
import { newNonce, type TestPayer } from '../support/sign-payment.js'
import { keyOf } from '../support/sign-permit.js'
import type { Deployments } from './deployments.js'
import type { Random } from './random.js'

/** Clients that pay at the same time. */
const CLIENTS = 24

/** Milliseconds for which one payment may stay open before its client is taken to be stuck. */
const PATIENCE_MS = 240_000
/** Milliseconds between two tries. */
const RETRY_MS = 100

const PATHS = [
  ...['/report', '/stream', 'settle', '/slow/50'],
  ...['/moody', '/moody', '/slow-stream/300'],
] as const

/** Where prices are a maximum, a response cannot be streamed. */
const METERED_PATHS = ['/metered', '/metered', '/metered', 'settle'] as const

/** How buyers pay: by the token's own authorization, by Permit2, or by Permit2 up to a maximum. */
const KINDS = ['erc3009', 'permit2', 'upto'] as const

/** Accounts that have not let Permit2 take anything yet. */
const NEW_PAYERS = 40
/** So many who pay by Permit2 have one of these accounts, and bring their approval with their payment. */
const IS_NEW = 0.2

/** So many metered payments cost nothing, and so many the maximum. */
const [COSTS_NOTHING, COSTS_ALL] = [0.15, 0.15]

/** What handlers do; see the shop's process. */
const MOODS = [
  ...['well', 'well', 'twice', 'fails_after', 'fails_later'],
  ...['waives', 'refuses', 'refuses_twice'],
] as const

/** Milliseconds that handlers of `/moody` take at most. */
const LONGEST_HANDLER_MS = 1500

/** So many visits are given up by their client. */
const GIVES_UP = 0.3
/** After at most so many milliseconds: at the door, in the handler, or while it is settled. */
const GIVES_UP_WITHIN_MS = [30, 300, 3000] as const
/** So many of those who gave up come back only when all is over. */
const LEAVES = 0.5

/**
 * How a buyer asks for what he has paid: by a key, without one, or by one that he takes later. A settlement
 * is bound to the key that it was first asked for with, so there the last one never takes any.
 */
const KEYS = ['always', 'never', 'later'] as const
/** So many visits make a buyer take his key from then on. */
const TAKES_KEY = 0.4

/** One payment and how its buyer presents it. */
interface Purchase {
  readonly payment: PaymentPayload
  readonly path: string
  readonly key: string
  readonly keyed: (typeof KEYS)[number]
  /** Whether it is presented with its key from now on. */
  hasKey: boolean
  /** What its settlement takes; what handlers take differs from visit to visit. */
  readonly charge: bigint | undefined
}

/** What happens while clients pay. */
export interface CrowdOptions {
  readonly payments: number
  /** Called with the number of payments so far, before the next one. */
  readonly onPayment: (begun: number) => Promise<void>
}

/** The buyers of a soak. */
export class Crowd {
  readonly #world: World
  readonly #shop: Deployments
  readonly #random: Random
  readonly #purchases: Purchase[] = []
  readonly #newPayers: TestPayer[] = []
  /** Purchases that came to no end. */
  readonly stuck: string[] = []
  #visitsGivenUp = 0

  constructor(world: World, shop: Deployments, random: Random) {
    this.#world = world
    this.#shop = shop
    this.#random = random
  }

  /** Visits whose clients did not wait for the answer. */
  get visitsGivenUp(): number {
    return this.#visitsGivenUp
  }

  /** Lets the devnet's payers pay by Permit2, and makes those that bring their approval. */
  async open(): Promise<void> {
    for (let count = 0; count < NEW_PAYERS; count++) {
      const privateKey = newNonce()
      const payer = { privateKey, address: privateKeyToAddress(privateKey) }
      await this.#world.devnet.mint(payer.address, 1_000_000n)
      this.#newPayers.push(payer)
    }
    await this.#world.approve()
  }

  /** Has every payment made, but for those whose buyers leave. */
  async payAll({ payments, onPayment }: CrowdOptions): Promise<void> {
    let begun = 0
    const client = async (): Promise<void> => {
      while (begun < payments) {
        begun += 1
        await onPayment(begun)
        const isDouble = this.#random.chance(0.1)
        const again = this.#random.chance(0.1)
        const purchase = await this.#sign()
        this.#purchases.push(purchase)
        const pay = (): Promise<void> => this.#pay(purchase)
        await Promise.all(isDouble ? [pay(), pay(), pay()] : [pay()])
        if (again) await pay()
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
  }

  /** Those who have got nothing come back, until they have it, or are refused. */
  async redeemAll(): Promise<void> {
    const served = new Set(
      this.#world.answers
        .filter(({ delivered }) => delivered)
        .map(({ authorization }) => authorization),
    )
    const left = this.#purchases.filter(({ payment }) => !served.has(nameOf(payment)))
    const purchases = left.values()
    const client = async (): Promise<void> => {
      for (const purchase of purchases) await this.#redeem(purchase)
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
  }

  async #sign(): Promise<Purchase> {
    const random = this.#random
    const isPoor = random.chance(0.03)
    const privateKey = newNonce()
    const poor = { privateKey, address: privateKeyToAddress(privateKey) }
    const kind = random.pick(KINDS)
    const path = random.pick(kind === 'upto' ? METERED_PATHS : PATHS)
    const keyed = random.pick(KEYS)
    const payment = await this.#signAs(kind, isPoor ? poor : undefined)
    const charge = kind === 'upto' ? this.#charge() : undefined
    const key = `soak-${privateKey.slice(2, 34)}`
    return { payment, path, keyed, key, hasKey: keyed === 'always', charge }
  }

  #signAs(kind: (typeof KINDS)[number], poor: TestPayer | undefined): Promise<PaymentPayload> {
    const random = this.#random
    if (kind === 'erc3009') return this.#world.sign({}, poor)
    const isSponsored = poor === undefined && random.chance(IS_NEW)
    const payer = isSponsored ? random.pick(this.#newPayers) : poor
    const facilitator = kind === 'upto' ? random.pick(this.#world.facilitators) : undefined
    return this.#world.signPermit({ payer, facilitator, isSponsored })
  }

  /** What a metered payment is to cost. */
  #charge(): bigint {
    const random = this.#random
    const maximum = BigInt(this.#world.offer.amount)
    if (random.chance(COSTS_NOTHING)) return 0n
    if (random.chance(COSTS_ALL)) return maximum
    return BigInt(Math.ceil(random.next() * Number(maximum)))
  }

  /** Presents a payment until its answer is final, or its buyer leaves. */
  async #pay(purchase: Purchase): Promise<void> {
    const random = this.#random
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      const within = random.pick(GIVES_UP_WITHIN_MS)
      const patienceMs = random.chance(GIVES_UP) ? Math.round(random.next() * within) : undefined
      const answer = await this.#present(purchase, {
        patienceMs,
        headers: {
          'x-test-mood': random.pick(MOODS),
          'x-test-delay': String(Math.round(random.next() * LONGEST_HANDLER_MS)),
        },
      })
      if (answer.gaveUp) {
        this.#visitsGivenUp += 1
        if (random.chance(LEAVES)) return
        await sleep(random.next() * within)
      }
      if (!isOpen(answer)) return
      if (performance.now() > deadline) return this.#giveUp(answer)
      await sleep(RETRY_MS)
    }
  }

  async #redeem(purchase: Purchase): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      const answer = await this.#present(purchase, {})
      if (!isOpen(answer)) return
      if (performance.now() > deadline) return this.#giveUp(answer)
      await sleep(RETRY_MS)
    }
  }

  #present(purchase: Purchase, visit: Visit): Promise<Answer> {
    const { payment, path, key, keyed } = purchase
    if (keyed === 'later' && path !== 'settle') purchase.hasKey ||= this.#random.chance(TAKES_KEY)
    const { hasKey } = purchase
    const isMetered = purchase.charge !== undefined
    const charge = path === 'settle' || !isMetered ? purchase.charge : this.#charge()
    return this.#world.present(this.#shop.any(), payment, {
      path,
      key: hasKey ? key : undefined,
      charge,
      ...visit,
    })
  }

  #giveUp({ authorization, reason = 'no answer' }: Answer): void {
    this.stuck.push(`open for too long: ${authorization} (${reason})`)
  }
}

function nameOf(payment: PaymentPayload): string {
  return authorizationOf(keyOf(payment))
}
