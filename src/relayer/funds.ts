import type { Chain } from '../chain/chain.js'
import { SingleFlight } from '../chain/single-flight.js'
import type { Address } from '../protocol/payment.js'

/** Gas of a `transferWithAuthorization` of the most expensive token we know, rounded up. */
const GAS_PER_SETTLEMENT = 150_000n

/** Settlements that a balance should pay for; below that, `onLow` is called. */
const LOW_BALANCE_SETTLEMENTS = 50n

/** Settlements that the balance must pay for before `onLow` may be called again. */
const RECOVERED_SETTLEMENTS = 100n

/** Milliseconds for which a balance is not read again. */
const BALANCE_MAX_AGE_MS = 10_000

/** Options of {@link RelayerFunds}. */
export interface RelayerFundsOptions {
  readonly chain: Chain
  readonly address: Address
  /** Called with the balance when it pays for few more settlements; once until it has risen. */
  readonly onLow: (balance: bigint) => void
}

/** Knows whether an account can pay for gas. Reads its balance once in ten seconds at most. */
export class RelayerFunds {
  readonly #options: RelayerFundsOptions
  readonly #reading = new SingleFlight(() => this.#read())
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
  check(): Promise<boolean> {
    return this.#reading.run()
  }

  /** Notes that the node rejected a transaction for lack of funds. */
  deny(): void {
    this.#remember(false)
  }

  async #read(): Promise<boolean> {
    const { chain, address, onLow } = this.#options
    const [balance, fees] = await Promise.all([chain.getBalance(address), chain.getFees()])
    const price = GAS_PER_SETTLEMENT * fees.maxFeePerGas
    const wasLow = this.#isLow
    this.#isLow = balance < price * (wasLow ? RECOVERED_SETTLEMENTS : LOW_BALANCE_SETTLEMENTS)
    if (this.#isLow && !wasLow) onLow(balance)
    return this.#remember(balance >= price)
  }

  #remember(suffice: boolean): boolean {
    this.#last = { suffice, until: performance.now() + BALANCE_MAX_AGE_MS }
    return suffice
  }
}
