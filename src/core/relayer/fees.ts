/** Fee values of relayer transactions: pure, in wei per gas. */
import type { Fees, FeeValues } from '../chain/types.js'

/**
 * The fee values of a new transaction.
 *
 * @param cap - The most that may be offered.
 * @returns `undefined` when the next block would cost more than the cap.
 */
export function feesWithin(fees: Fees, cap: bigint | undefined): FeeValues | undefined {
  const { baseFeePerGas, maxFeePerGas, maxPriorityFeePerGas } = fees
  if (cap === undefined || maxFeePerGas <= cap) return { maxFeePerGas, maxPriorityFeePerGas }
  if (baseFeePerGas + maxPriorityFeePerGas > cap) return undefined
  return { maxFeePerGas: cap, maxPriorityFeePerGas }
}

/**
 * The fee values of a replacement: those of a new transaction, but at least as much above the
 * earlier ones as nodes demand (10 % by default; we add an eighth to both members).
 *
 * @returns `undefined` when that exceeds the cap, or when the next block would.
 */
export function bumpFees(
  earlier: FeeValues,
  fees: Fees,
  cap: bigint | undefined,
): FeeValues | undefined {
  const current = feesWithin(fees, cap)
  if (current === undefined) return undefined
  const maxFeePerGas = most(current.maxFeePerGas, bumped(earlier.maxFeePerGas))
  const maxPriorityFeePerGas = most(
    current.maxPriorityFeePerGas,
    bumped(earlier.maxPriorityFeePerGas),
  )
  const exceedsCap = cap !== undefined && maxFeePerGas > cap
  return exceedsCap || maxPriorityFeePerGas > maxFeePerGas
    ? undefined
    : { maxFeePerGas, maxPriorityFeePerGas }
}

function bumped(fee: bigint): bigint {
  return fee + fee / 8n + 1n
}

function most(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}
