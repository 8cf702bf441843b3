/** The merchant, who pays some payments back: in part, more than once, twice at once, and more than was paid. */
import { recordId } from '../../src/ledger/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import type { Purchase } from './buyers.js'
import type { Chance } from './chance.js'
import type { Answered, GatewayProcess } from './gateway-process.js'
import { signAuthorization } from './signing.js'
import type { World } from './world.js'

/** How the merchant's programs are known to the API. */
export const PROJECT_TOKEN = 'x402_test-token-of-the-simulated-shop'

const PATIENCE_MS = 60_000
const MOST_ATTEMPTS = 60
const PAUSE_MS = 3000

/** How long a refund may be sent (s). */
const VALIDITY_SECONDS = 400n

type Known = 'scheduler' | 'chain' | 'merchant' | 'seconds' | 'trace'

export interface Shop extends Pick<World, Known> {
  readonly chance: Chance
  readonly gateways: readonly GatewayProcess[]
}

export class Refunds {
  readonly #shop: Shop

  constructor(shop: Shop) {
    this.#shop = shop
  }

  /** Pays one in four back, once its buyer has gone or before. Ends when the merchant has an answer. */
  async refund(purchase: Purchase): Promise<void> {
    const { chance, scheduler } = this.#shop
    if (!chance.onceIn(4)) return
    await scheduler.wait(chance.between(1, 20_000))
    const { value } = purchase.signed
    const parts = chance.pick([[value], [value / 2n, value / 2n], [value, value], [1n, value]])
    await Promise.all(parts.map((part) => this.#payBack(purchase, part)))
    // Somebody else in the shop does not know of it.
    if (chance.onceIn(3)) await this.#payBack(purchase, value)
  }

  async #payBack(purchase: Purchase, value: bigint): Promise<void> {
    const { chance, scheduler, gateways } = this.#shop
    const body = this.#sign(purchase, value)
    const { contract, from, nonce } = purchase.signed
    const key = { from: from as Hex, nonce: nonce as Hex }
    const id = recordId({ chainId: 84532, contract, ...key })
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const gateway = chance.pick(gateways)
      const answer = await gateway.ask({
        method: 'POST',
        url: `/api/v2/merchant/settlements/${id}/refunds`,
        headers: { 'x-project-identify-token': PROJECT_TOKEN, 'content-type': 'application/json' },
        body,
        patienceMs: PATIENCE_MS,
      })
      this.#tell(purchase, `refund of ${value} gets ${wordsOf(answer)} from ${gateway.life.name}`)
      const isOpen = answer === undefined || answer.status === 202 || answer.status >= 500
      if (!isOpen && !answer.body.includes('"delivering":true')) return
      await scheduler.wait(PAUSE_MS + chance.between(0, 500))
    }
  }

  #sign({ signed: { from }, refunds }: Purchase, value: bigint): string {
    const { chance, merchant, seconds, chain } = this.#shop
    const terms = {
      to: from,
      value,
      validAfter: 0n,
      validBefore: BigInt(seconds()) + VALIDITY_SECONDS,
      nonce: `0x${chance.bytes(32).toString('hex')}`,
    }
    const { signed, payload } = signAuthorization(merchant, terms)
    chain.note(signed)
    refunds.push(signed)
    return JSON.stringify(payload)
  }

  #tell({ number }: Purchase, words: string): void {
    this.#shop.trace.tell(words, number)
  }
}

function wordsOf(answer: Answered | undefined): string {
  if (answer === undefined) return 'no answer'
  const { status, code = '' } = JSON.parse(answer.body) as {
    status: string | number
    code?: string
  }
  return `${answer.status} ${code || status}`
}
