import { intrinsicGas } from '../chain/intrinsic-gas.js'
import type { Address, Hex } from '../protocol/payment.js'

/** What a token transfer takes of the gas of a transaction that it shares with others. */
export interface GasShare {
  readonly token: Address
  readonly payer: Address
  readonly payee: Address
  /** Gas of calling the token, measured by itself. */
  readonly execution: bigint
  /** Gas of it that only the first call of the token in a transaction pays. */
  readonly sharedGas: bigint
  /** Whether it gives the payee his first balance. */
  readonly isFirstBalance: boolean
  /** Gas that the network takes for its bytes beside what Ethereum takes. */
  readonly networkGas: bigint
}

/** Gas that Multicall3 takes itself: for a transaction, and for each call of a transfer in it. */
const MULTICALL_GAS = { base: 1000n, each: 1200n }

/** Gas of reading a balance for the first time in a transaction (EIP-2929). */
const COLD_BALANCE_GAS = 2000n

/** Gas that writing a balance takes more than writing it again in the same transaction (EIP-2200). */
const FIRST_WRITE_GAS = 2800n

/** Gas that writing a balance takes more where there was none. */
export const FIRST_BALANCE_GAS = 17_100n

/** Room above what was measured, in percent: for nested calls, which keep back a 64th (EIP-150). */
const HEADROOM_PERCENT = 106n

/** Most that is allowed for, in percent of what was measured. */
const MOST_PERCENT = 124n

/**
 * The gas limit of transfers that share a transaction.
 *
 * @param data - Calldata of the transaction.
 */
export function batchGasLimit(shares: readonly GasShare[], data: Hex): bigint {
  const seen = new Set<string>()
  /** Whether it was met before in this transaction. */
  const isKnown = (...names: readonly string[]): boolean => {
    const name = names.join()
    return seen.has(name) || !seen.add(name)
  }
  const savedFor = ({ token, payer, payee, sharedGas, isFirstBalance }: GasShare): bigint => {
    const balance = COLD_BALANCE_GAS + FIRST_WRITE_GAS
    const first = isFirstBalance ? FIRST_BALANCE_GAS : 0n
    const byToken = sharedGas > COLD_BALANCE_GAS ? sharedGas - COLD_BALANCE_GAS : 0n
    return (
      (isKnown(token) ? byToken : 0n) +
      (isKnown('payer', token, payer) ? balance : 0n) +
      (isKnown('payee', token, payee) ? balance + first : 0n)
    )
  }
  const measured = shares.reduce(
    (sum, share) => sum + share.execution + share.networkGas + MULTICALL_GAS.each - savedFor(share),
    intrinsicGas(data) + MULTICALL_GAS.base,
  )
  const payees = new Set(shares.map(({ token, payee }) => token + payee)).size
  const wanted = percent(measured, HEADROOM_PERCENT) + BigInt(payees) * FIRST_BALANCE_GAS
  const most = percent(measured, MOST_PERCENT)
  return wanted < most ? wanted : most
}

/** So many percent of an amount of gas. */
export function percent(gas: bigint, percents: bigint): bigint {
  return (gas * percents) / 100n
}
