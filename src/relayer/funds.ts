import type { Chain } from '../chain/chain.js'
import { SingleFlight } from '../chain/single-flight.js'
import type { Address } from '../protocol/payment.js'

/** Gas of a `transferWithAuthorization` of the most expensive token we know, rounded up. */
const GAS_PER_SETTLEMENT = 150_000n

/** Settlements that a balance should pay for; below that, `onLow` is called. */
const LOW_BALANCE_SETTLEMENTS = 50n

/** Settlements that the balance must pay for before `onLow` may be called again. */
const RECOVERED_SETTLEMENTS = 100n

/** Settlements that any balance pays for where gas is free. */
const UNLIMITED = 10n ** 9n

/** Milliseconds for which a balance is not read again. */
const BALANCE_MAX_AGE_MS = 10_000

/** Options of {@link RelayerFunds}. */
export interface RelayerFundsOptions {
  readonly chain: Chain
  readonly address: Address
  /** Called with the balance when it pays for few more settlements; once until it has risen. */
  readonly onLow: (balance: bigint) => void
}

/** What an account has, and about how many settlements that pays for now. */
export interface Funds {
  /** In wei. */
  readonly balance: bigint
  readonly settlements: bigint
  /** Whether it pays for so few settlements that `relayerLow` is emitted. */
  readonly isLow: boolean
}

/** Knows whether an account can pay for gas. Reads its balance once in ten seconds at most. */
export class RelayerFunds {
  readonly #options: RelayerFundsOptions
  readonly #reading = new SingleFlight(() => this.#read())
  /** What was read last. */
  #known: Funds | undefined
  /** The last result, and until when it is used, by `performance.now()`. */
  #last: { readonly suffice: boolean; readonly until: number } | undefined
  /** Whether `onLow` was called since the balance was last high enough. */
  #isLow = false

  constructor(options: RelayerFundsOptions) {
    this.#options = options
  }

  /** Whether the account can pay for the next settlement; `undefined` when that must be read. */
  get suffice(): boolean | undefined {
    const last = this.#last
    return last !== undefined && performance.now() < last.until ? last.suffice : undefined
  }

  /** Reads the balance, once for all concurrent callers. @returns Whether it suffices. */
  async check(): Promise<boolean> {
    return (await this.#reading.run()).settlements >= 1n
  }

  /** Reads the balance, once for all concurrent callers. @throws {@link ChainError} */
  read(): Promise<Funds> {
    return this.#reading.run()
  }

  /** What was read last, however long ago. */
  get known(): Funds | undefined {
    return this.#known
  }

  /** Notes that the node rejected a transaction for lack of funds. */
  deny(): void {
    this.#remember(false)
  }

  async #read(): Promise<Funds> {
    const { chain, address, onLow } = this.#options
    const [balance, fees] = await Promise.all([chain.getBalance(address), chain.getFees()])
    const price = GAS_PER_SETTLEMENT * fees.maxFeePerGas
    const wasLow = this.#isLow
    this.#isLow = balance < price * (wasLow ? RECOVERED_SETTLEMENTS : LOW_BALANCE_SETTLEMENTS)
    if (this.#isLow && !wasLow) onLow(balance)
    const settlements = price === 0n ? UNLIMITED : balance / price
    this.#remember(settlements >= 1n)
    this.#known = { balance, settlements, isLow: this.#isLow }
    return this.#known
  }

  #remember(suffice: boolean): void {
    this.#last = { suffice, until: performance.now() + BALANCE_MAX_AGE_MS }
  }
}
