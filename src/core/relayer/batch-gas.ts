import { floorGas, intrinsicGas } from '../chain/intrinsic-gas.js'
import type { Call } from '../chain/types.js'
import type { Address, Hex } from '../../shared/protocol/payment.js'

/** The gas of a token transfer in a transaction that it shares with others. */
export interface GasShare {
  readonly token: Address
  readonly payer: Address
  readonly payee: Address
  /** The contract that is called in place of the token, and that has Permit2 move it. */
  readonly spender?: Address | undefined
  /** Gas of the call, measured without any other call. */
  readonly execution: bigint
  /** The part of it that only the first call of the token in a transaction pays. */
  readonly sharedGas: bigint
  readonly isFirstBalance: boolean
  /** Gas that the network charges for its bytes in addition to Ethereum's calldata gas. */
  readonly networkGas: bigint
}

/** A call of a batch: its gas limit when it is sent alone, and its share where that was measured. */
export interface BatchedGas {
  readonly gas: bigint
  readonly gasShare?: GasShare | undefined
}

/** Gas of Multicall3 itself for measured calls: per transaction, and per transfer in it. */
const MULTICALL_GAS = { base: 1000n, each: 1200n }

/** The same if not all calls were measured. */
const UNMEASURED_MULTICALL_GAS = { base: 30_000n, each: 5000n }

/**
 * Gas of an executor: to find out who calls, which grows with its relayers and suffices for a hundred; and to
 * make a call, of which it holds back 5400 (contracts/executor.yul); one more
 * for each byte copies it.
 */
const EXECUTOR_GAS = { base: 10_000n, each: 6000n }

/** Gas of the first read of a balance in a transaction (EIP-2929). */
const COLD_BALANCE_GAS = 2000n

/** Extra gas of the first write of a balance in a transaction over a second one (EIP-2200). */
const FIRST_WRITE_GAS = 2800n

/** Gas of the first access to an account in a transaction, beyond a later one (EIP-2929). */
export const COLD_ACCOUNT_GAS = 2500n

/** Gas that only the first payment by Permit2 takes: to reach its spender, and Permit2. */
const FIRST_SPENDER_GAS = 2n * COLD_ACCOUNT_GAS

/** Gas that only a payer's first payment by Permit2 takes: to look at its account, and its allowance. */
const FIRST_ALLOWANCE_GAS = COLD_ACCOUNT_GAS + COLD_BALANCE_GAS

/** Extra gas of writing a balance where there was none. */
export const FIRST_BALANCE_GAS = 17_100n

/**
 * Gas limit of a batch, in percent of its measured gas. Multicall3 calls the token's proxy, which calls the
 * token, which calls ecrecover; each call leaves a 64th behind (EIP-150), together 4.8 %.
 */
const HEADROOM_PERCENT = 106n

/** Highest gas limit, in percent of the measured gas. A test holds all limits to 125 % of what was used. */
export const MOST_PERCENT = 124n

/**
 * The gas limit of a transaction that several calls share.
 *
 * Unused gas is not paid for, and still a limit should be tight: an account that gets code before its
 * transfer is mined can burn all of it at our cost, and nodes want the relayer's balance to cover the
 * whole limit at the highest fee, for every pending transaction at once.
 *
 * @param data - Calldata of the transaction.
 */
export function batchGasLimit(calls: readonly BatchedGas[], data: Hex): bigint {
  const shares = calls.flatMap(({ gasShare }) => gasShare ?? [])
  if (shares.length === calls.length) return measuredGasLimit(shares, data)
  const { base, each } = UNMEASURED_MULTICALL_GAS
  return calls.reduce((sum, { gas }) => sum + gas + each, base)
}

/** A call of an executor: its gas limit when it is sent alone, and the most that the call itself takes. */
export interface ExecutedGas {
  readonly call: Call
  readonly gas: bigint
  readonly via: { readonly callGas: bigint }
}

/**
 * The gas limit of a transaction through an executor: what was promised to its calls, never an estimate,
 * which calls that fail satisfy. The executor lets none take the gas of another.
 *
 * @param data - Calldata of the transaction.
 */
export function executorGasLimit(calls: readonly ExecutedGas[], data: Hex): bigint {
  const { base, each } = EXECUTOR_GAS
  let sum = intrinsicGas(data) + base
  let largest = 0n
  for (const { call, gas, via } of calls) {
    const networkGas = gas - intrinsicGas(call.data) - via.callGas
    sum += via.callGas + each + BigInt(call.data.length / 2)
    // What the network charges for the bytes, where it does.
    if (networkGas > 0n) sum += networkGas
    if (via.callGas > largest) largest = via.callGas
  }
  // The last call leaves a 64th behind (EIP-150); what comes after a larger one is a part of that.
  const limit = sum + largest / 63n
  const floor = floorGas(data)
  return limit > floor ? limit : floor
}

function measuredGasLimit(shares: readonly GasShare[], data: Hex): bigint {
  const seen = new Set<string>()
  /** Whether an earlier transfer of the transaction has the same key. */
  const isRepeated = (...parts: readonly string[]): boolean => {
    const key = parts.join()
    return seen.has(key) || !seen.add(key)
  }
  const savedByPermit2 = ({ spender, token, payer }: GasShare): bigint =>
    spender === undefined
      ? 0n
      : (isRepeated('spender', spender) ? FIRST_SPENDER_GAS : 0n) +
        (isRepeated('allowance', token, payer) ? FIRST_ALLOWANCE_GAS : 0n)
  const savedFor = (share: GasShare): bigint => {
    const { token, payer, payee, sharedGas, isFirstBalance } = share
    const balance = COLD_BALANCE_GAS + FIRST_WRITE_GAS
    const first = isFirstBalance ? FIRST_BALANCE_GAS : 0n
    const byToken = sharedGas > COLD_BALANCE_GAS ? sharedGas - COLD_BALANCE_GAS : 0n
    return (
      savedByPermit2(share) +
      (isRepeated(token) ? byToken : 0n) +
      (isRepeated('payer', token, payer) ? balance : 0n) +
      (isRepeated('payee', token, payee) ? balance + first : 0n)
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

export function percent(gas: bigint, percents: bigint): bigint {
  return (gas * percents) / 100n
}
