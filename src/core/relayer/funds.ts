import type { Chain } from '../chain/chain.js'
import { deduped } from '../chain/deduped.js'
import type { Address } from '../../shared/protocol/payment.js'
import { world } from '../../shared/world.js'

/** Gas of a `transferWithAuthorization` of the most expensive token we know, rounded up. */
const GAS_PER_SETTLEMENT = 150_000n

/** Settlements that a balance should pay for; below that, it is low. */
const LOW_BALANCE_SETTLEMENTS = 50n

/** Settlements that the balance must pay for before it is not low any more. */
const RECOVERED_SETTLEMENTS = 100n

/** Settlements that any balance pays for where gas is free. */
const UNLIMITED = 10n ** 9n

/** How long a balance is not read again (ms). */
const BALANCE_MAX_AGE_MS = 10_000

export interface RelayerFundsOptions {
  readonly chain: Chain
  readonly address: Address
  /** Called with each reading of the balance. */
  readonly onRead?: ((read: FundsRead) => void) | undefined
}

/** The balance of an account, and about how many settlements it pays for now. */
export interface Funds {
  /** In wei. */
  readonly balance: bigint
  readonly settlements: bigint
  /** Whether it pays for few more settlements. Once it does, it is low until it pays for twice as many. */
  readonly isLow: boolean
}

export interface FundsRead extends Funds {
  readonly relayer: Address
  /** Whether it is low, and was not at the reading before. */
  readonly becameLow: boolean
  /** Whether it pays for so many settlements that no process counts it as low any more. */
  readonly isAmple: boolean
}

/** Knows whether an account can pay for gas. Reads its balance once in ten seconds at most. */
export class RelayerFunds {
  readonly #options: RelayerFundsOptions
  readonly #reading = deduped(() => this.#read())
  #known: Funds | undefined
  /** The last result, and until when it is used, by `world.elapsed()`. */
  #last: { readonly suffice: boolean; readonly until: number } | undefined
  #isLow = false

  constructor(options: RelayerFundsOptions) {
    this.#options = options
  }

  /** Whether the account can pay for the next settlement; `undefined` when that must be read. */
  get suffice(): boolean | undefined {
    const last = this.#last
    return last !== undefined && world.elapsed() < last.until ? last.suffice : undefined
  }

  /** Reads the balance, once for all concurrent callers. @returns Whether it suffices. */
  async check(): Promise<boolean> {
    return (await this.#reading()).settlements >= 1n
  }

  /** Reads the balance, once for all concurrent callers. @throws {@link ChainError} */
  read(): Promise<Funds> {
    return this.#reading()
  }

  /** The last reading, however old. */
  get known(): Funds | undefined {
    return this.#known
  }

  /** Notes that the node rejected a transaction for lack of funds. */
  deny(): void {
    this.#remember(false)
  }

  async #read(): Promise<Funds> {
    const { chain, address, onRead } = this.#options
    const [balance, fees] = await Promise.all([chain.getBalance(address), chain.getFees()])
    const price = GAS_PER_SETTLEMENT * fees.maxFeePerGas
    const wasLow = this.#isLow
    this.#isLow = balance < price * (wasLow ? RECOVERED_SETTLEMENTS : LOW_BALANCE_SETTLEMENTS)
    const settlements = price === 0n ? UNLIMITED : balance / price
    this.#remember(settlements >= 1n)
    const isLow = this.#isLow
    this.#known = { balance, settlements, isLow }
    const isAmple = settlements >= RECOVERED_SETTLEMENTS
    onRead?.({ ...this.#known, relayer: address, becameLow: isLow && !wasLow, isAmple })
    return this.#known
  }

  #remember(suffice: boolean): void {
    this.#last = { suffice, until: world.elapsed() + BALANCE_MAX_AGE_MS }
  }
}
