import type { Hex } from '../protocol/payment.js'

/** Gas of a transaction before its first instruction (Yellow Paper, EIP-2028). */
const GAS = { transaction: 21_000n, zeroByte: 4n, otherByte: 16n }

/** Least gas of a transaction for each zero byte of its calldata; four times as much for others (EIP-7623). */
const FLOOR_PER_TOKEN = 10n

/** Gas that a transaction takes before its first instruction. */
export function intrinsicGas(data: Hex): bigint {
  const { zeros, others } = countBytes(data)
  return GAS.transaction + GAS.zeroByte * zeros + GAS.otherByte * others
}

/** Gas that a transaction pays at least, however little it does (EIP-7623). */
export function floorGas(data: Hex): bigint {
  const { zeros, others } = countBytes(data)
  return GAS.transaction + FLOOR_PER_TOKEN * (zeros + 4n * others)
}

function countBytes(data: Hex): { readonly zeros: bigint; readonly others: bigint } {
  const ZERO = 48
  let zeros = 0
  for (let at = 2; at < data.length; at += 2)
    if (data.charCodeAt(at) === ZERO && data.charCodeAt(at + 1) === ZERO) zeros++
  return { zeros: BigInt(zeros), others: BigInt(data.length / 2 - 1 - zeros) }
}
