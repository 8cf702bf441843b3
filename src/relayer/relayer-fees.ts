/** What relayers offer for gas: pure, in wei per gas. */
import type { Fees, FeeValues } from '../chain/chain.js'

/**
 * What a transaction offers now.
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
 * What a transaction offers that replaces another: what one costs now, and so much more than the
 * other that nodes take it (10 % by default; we add an eighth, to both members).
 *
 * @returns `undefined` when that is above the cap, or would not be mined now either.
 */
export function bumpFees(
  earlier: FeeValues,
  fees: Fees,
  cap: bigint | undefined,
): FeeValues | undefined {
  const offer = feesWithin(fees, cap)
  if (offer === undefined) return undefined
  const maxFeePerGas = most(offer.maxFeePerGas, bumped(earlier.maxFeePerGas))
  const maxPriorityFeePerGas = most(
    offer.maxPriorityFeePerGas,
    bumped(earlier.maxPriorityFeePerGas),
  )
  const isTooDear = cap !== undefined && maxFeePerGas > cap
  return isTooDear || maxPriorityFeePerGas > maxFeePerGas
    ? undefined
    : { maxFeePerGas, maxPriorityFeePerGas }
}

function bumped(fee: bigint): bigint {
  return fee + fee / 8n + 1n
}

function most(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}
