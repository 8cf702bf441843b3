/**
 * A facilitator elsewhere. It sends what it settles from accounts of its own, and may be gone, slow or silent, or lose
 * its answer. One that only gets a share is not trusted: it lies, too.
 */
import type { Facilitator } from '../../src/core/facilitator/facilitator.js'
import { FacilitatorError } from '../../src/shared/errors.js'
import type {
  Hex,
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
} from '../../src/shared/protocol/payment.js'
import type { Reason } from '../../src/shared/protocol/reasons.js'
import type { Signed } from './chain.js'
import type { Chance } from './chance.js'
import { NOBODY, type Life } from './scheduler.js'
import type { World } from './world.js'

/** Time that a request or an answer is on its way (ms). */
const LATENCY_MS = [2, 30] as const

/** How often it looks whether a transaction is mined, and for how long (ms). */
const LOOK_MS = 500
const CONFIRM_MS = 20_000

/** How long it waits with what it says that it does not send (ms). */
const LATE_MS = [1, 30_000] as const

/** When an HTTP client would stop waiting for one that is silent (ms). */
const TIMEOUT_MS = 8000

type Known = Pick<World, 'scheduler' | 'chain' | 'faults' | 'trace' | 'seconds'>

/** What it was asked to settle first, and for whom. */
interface Asked {
  readonly asker: string | undefined
  hash: Hex
}

export class FacilitatorElsewhere {
  /** All transactions that it has sent. */
  readonly sent = new Set<string>()
  readonly #world: Known
  readonly #asked = new Map<string, Asked>()

  constructor(world: Known) {
    this.#world = world
  }

  /** It, as a gateway asks it. @param isTrusted - Whether it settles all payments of that gateway, and does not lie. */
  askedBy(life: Life, { isTrusted }: { readonly isTrusted: boolean }): Facilitator {
    const kind = { x402Version: 2, scheme: 'exact', network: 'eip155:84532' } as const
    return {
      supported: () => this.#answer(life, () => ({ kinds: [kind], extensions: [], signers: {} })),
      verify: (payload, requirements) =>
        this.#answer(life, () => {
          if (this.#isGone()) throw gone()
          const invalidReason = this.#refusalOf(payload, requirements)
          if (invalidReason !== undefined) return { isValid: false, invalidReason }
          return { isValid: true, payer: this.#signedOf(payload)!.from }
        }),
      settle: async (payload, requirements, terms) => {
        await this.#answer(life, () => {
          if (this.#isGone()) throw gone()
        })
        if (!isTrusted && this.#world.faults.happens('facilitatorLies'))
          return this.#lie(life, payload)
        const asker = terms?.purchase?.asker
        return this.#settle(life, { payload, requirements, asker })
      },
    }
  }

  #isGone(): boolean {
    return this.#world.faults.happens('facilitatorGone')
  }

  /** An answer that reaches only who still lives. */
  #answer<T>(life: Life, make: () => T): Promise<T> {
    const { scheduler, faults } = this.#world
    const ms = faults.chance.between(...LATENCY_MS)
    return new Promise((resolve, reject) => {
      const respond = (): void => {
        try {
          resolve(make())
        } catch (error) {
          reject(error)
        }
      }
      scheduler.after(ms, respond, life)
    })
  }

  async #settle(
    life: Life,
    request: {
      readonly payload: PaymentPayload
      readonly requirements: PaymentRequirements
      readonly asker: string | undefined
    },
  ): Promise<SettleResponse> {
    const { scheduler, faults, chain } = this.#world
    const { payload, requirements, asker } = request
    const { network } = requirements
    const nonce = nonceOf(payload)
    const earlier = this.#asked.get(nonce)
    const refused =
      earlier === undefined ? this.#refusalOf(payload, requirements) : whyAnother(earlier, asker)
    if (refused !== undefined)
      return this.#answer(life, () => ({
        success: false,
        errorReason: refused,
        transaction: '',
        network,
      }))
    const signed = this.#signedOf(payload)!
    const asked = earlier ?? { asker, hash: '0x' }
    this.#asked.set(nonce, asked)
    this.#send(signed, asked)
    // Somebody who has been asked goes on, whoever has asked.
    if (faults.happens('facilitatorSilent')) {
      await wait(this.#world, TIMEOUT_MS, life)
      throw new FacilitatorError('facilitator_unreachable', 'It did not answer in time.')
    }
    const end = scheduler.elapsed + CONFIRM_MS
    while (chain.useOf(signed.from, nonce) === undefined && scheduler.elapsed < end)
      await wait(this.#world, LOOK_MS, life)
    return this.#answer(life, () => {
      const transaction = chain.useOf(signed.from, nonce)?.transaction
      const result = { transaction: transaction ?? asked.hash, network }
      if (transaction === undefined)
        return { ...result, success: false, errorReason: 'settlement_pending' }
      return { ...result, success: true, payer: signed.from }
    })
  }

  /** Says that it has paid, or that it will not, and does as it likes. */
  #lie(life: Life, payload: PaymentPayload): Promise<SettleResponse> {
    const { scheduler, faults } = this.#world
    const { chance } = faults
    const network = 'eip155:84532'
    const signed = this.#signedOf(payload)
    if (signed !== undefined && chance.onceIn(2)) {
      const send = (): void => this.#send(signed, { asker: undefined, hash: '0x' })
      scheduler.after(chance.between(...LATE_MS), send, NOBODY)
    }
    const answers: readonly (() => SettleResponse)[] = [
      () => ({ success: true, transaction: someHash(chance), network, payer: '' }),
      () => ({ success: false, errorReason: 'invalid_payload', transaction: '', network }),
      () => ({ success: false, errorReason: 'insufficient_funds', transaction: '', network }),
      () => undefined as unknown as SettleResponse,
      () => {
        throw gone()
      },
    ]
    return this.#answer(life, chance.pick(answers))
  }

  /** Sends a transfer, unless it waits or is mined. */
  #send({ from, nonce, call }: Signed, asked: Asked): void {
    const { chain, faults, trace } = this.#world
    if (chain.useOf(from, nonce) !== undefined || chain.pool.has(asked.hash)) return
    const { chance } = faults
    asked.hash = someHash(chance)
    this.sent.add(asked.hash)
    trace.tell(`a facilitator sends ${nonce.slice(0, 10)} as ${asked.hash.slice(0, 10)}`)
    chain.pool.set(asked.hash, {
      hash: asked.hash,
      from: `0x${chance.bytes(20).toString('hex')}`,
      nonce: 0,
      to: call.to,
      data: call.data as Hex,
      gas: 100_000n,
      maxFee: 10n ** 12n,
    })
  }

  #signedOf(payload: PaymentPayload): Signed | undefined {
    const signed = this.#world.chain.signedWith(nonceOf(payload))
    // Only the caller that it names may send a metered payment.
    return signed?.metered === undefined ? signed : undefined
  }

  #refusalOf(payload: PaymentPayload, requirements: PaymentRequirements): Reason | undefined {
    const { chain, seconds } = this.#world
    const signed = this.#signedOf(payload)
    const { payTo, amount, scheme } = requirements
    if (signed === undefined || scheme !== 'exact') return 'invalid_payload'
    if (signed.to !== payTo.toLowerCase() || String(signed.value) !== amount)
      return 'invalid_exact_evm_payload_recipient_mismatch'
    const { from, nonce, call } = signed
    if (chain.useOf(from, nonce) !== undefined) return 'invalid_exact_evm_nonce_already_used'
    const calling = { from: '0x', to: call.to, data: call.data }
    const moved = chain.wouldMove(calling, chain.head, seconds())
    return moved === undefined ? 'invalid_exact_evm_payload_authorization_valid_before' : undefined
  }
}

function whyAnother(earlier: Asked, asker: string | undefined): Reason | undefined {
  return asker === undefined || earlier.asker !== asker
    ? 'invalid_exact_evm_nonce_already_used'
    : undefined
}

function someHash(chance: Chance): Hex {
  return `0x${chance.bytes(32).toString('hex')}`
}

function gone(): FacilitatorError {
  return new FacilitatorError('facilitator_unreachable', 'Nobody listens.', { isUnsent: true })
}

const wait = ({ scheduler }: Known, ms: number, life: Life): Promise<void> =>
  new Promise((resolve) => scheduler.after(ms, resolve, life))

export function nonceOf({ payload }: PaymentPayload): string {
  const { authorization, permit2Authorization } = payload as Readonly<
    Record<string, { readonly nonce: string } | undefined>
  >
  return (authorization ?? permit2Authorization)!.nonce
}
