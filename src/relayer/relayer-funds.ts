import type { Chain } from '../chain/chain.js'
import type { Address } from '../protocol/payment.js'

/** Gas of one `transferWithAuthorization` of the dearest token we know, with room. */
const GAS_PER_SETTLEMENT = 150_000n

/** Settlements a balance should be good for; below, the operator is told. */
const LOW_BALANCE_SETTLEMENTS = 50n

/** Settlements it must be good for again before he would be told once more. */
const RECOVERED_SETTLEMENTS = 100n

/** Milliseconds for which a balance is not looked up again. */
const BALANCE_MAX_AGE_MS = 10_000

/** What is known of an account's gas money. */
export interface RelayerFunds {
  /** Whether the next settlement's gas can be paid; `undefined` when that must be looked up. */
  readonly suffice: boolean | undefined
  /** Looks the balance up; once, however many ask. @returns Whether it suffices. */
  check(): Promise<boolean>
  /** The node says that there is too little. */
  deny(): void
}

/** Options of {@link watchFunds}. */
export interface RelayerFundsOptions {
  readonly chain: Chain
  readonly address: Address
  /** Called when the balance has become good for few settlements more; once until it has risen. */
  readonly onLow: (balance: bigint) => void
}

/** Keeps an eye on an account's gas money, at the price of one look in ten seconds. */
export function watchFunds({ chain, address, onLow }: RelayerFundsOptions): RelayerFunds {
  let last: { readonly suffice: boolean; readonly until: number } | undefined
  let isLow = false
  let checking: Promise<boolean> | undefined

  const remember = (suffice: boolean): boolean => {
    last = { suffice, until: performance.now() + BALANCE_MAX_AGE_MS }
    return suffice
  }

  const check = async (): Promise<boolean> => {
    const [balance, fees] = await Promise.all([chain.getBalance(address), chain.getFees()])
    const price = GAS_PER_SETTLEMENT * fees.maxFeePerGas
    const wasLow = isLow
    isLow = balance < price * (wasLow ? RECOVERED_SETTLEMENTS : LOW_BALANCE_SETTLEMENTS)
    if (isLow && !wasLow) onLow(balance)
    return remember(balance >= price)
  }

  return {
    get suffice() {
      return last !== undefined && performance.now() < last.until ? last.suffice : undefined
    },
    check() {
      checking ??= check().finally(() => {
        checking = undefined
      })
      return checking
    },
    deny: () => void remember(false),
  }
}
