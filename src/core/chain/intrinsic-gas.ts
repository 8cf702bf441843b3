import type { Hex } from '../../shared/protocol/payment.js'

/** Gas of a transaction before its first instruction (Yellow Paper, EIP-2028). */
const GAS = { transaction: 21_000n, zeroByte: 4n, otherByte: 16n }

/** Floor gas of a zero byte of calldata; other bytes cost four times as much (EIP-7623). */
const FLOOR_PER_TOKEN = 10n

/** Gas that a transaction uses before its first instruction. */
export function intrinsicGas(data: Hex): bigint {
  const { zeros, others } = countBytes(data)
  return GAS.transaction + GAS.zeroByte * zeros + GAS.otherByte * others
}

/** Least gas that a transaction pays for, whatever it does (EIP-7623). */
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
