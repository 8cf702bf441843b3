import { LRUCache } from 'lru-cache'
import { ChainError } from '../../../errors.js'
import type { Call } from '../../../chain/chain.js'
import { floorGas, intrinsicGas } from '../../../chain/intrinsic-gas.js'
import type { Address } from '../../../protocol/payment.js'
import { FIRST_BALANCE_GAS, percent, type GasShare } from '../../../relayer/batch-gas.js'
import type { TransferSimulation } from '../verify/simulate.js'
import type { SettlementNetwork } from '../settlement-network.js'
import type { SignedTransfer } from '../erc3009.js'

/** Room above an estimate or a measurement, in percent. */
const HEADROOM_PERCENT = 110n

/** Most that is allowed for above a measurement, in percent. */
const MOST_PERCENT = 124n

/**
 * Most gas a settlement may take. A contract account's own code runs in it, at our expense; those
 * that check passkeys in plain EVM code take about half of this.
 */
const MAX_GAS = 1_000_000n

/** What is remembered of each token: what its last transfers took. */
const SAMPLES = { tokens: 1000, kept: 31, enough: 5 }

/** Times the median of a token's transfers that another may take. */
const MOST_MEDIANS = 2n

/** Milliseconds for which it is not asked again what a network takes for a transaction's bytes. */
const NETWORK_GAS_MAX_AGE_MS = 600_000

/** Most gas that a network is believed to take for them; Arbitrum takes some 100,000. */
const MAX_NETWORK_GAS = 2_000_000n

/** Gas limits of settlements on one network. */
export interface GasLimits {
  /**
   * The gas limit of a transfer whose payer has no code, from what a look at it has measured.
   *
   * @returns Or that it would fail.
   * @throws {@link ChainError}
   */
  limitOf(
    transfer: SignedTransfer,
    call: Call,
    look: TransferSimulation,
  ): Promise<GasLimit | 'reverts'>
  /**
   * The gas limit of a transfer that runs its payer's code, asked of the node in any case, with the
   * fees it will be sent with. It goes alone.
   *
   * @returns Or that it would fail, or cost more than we are willing to pay.
   * @throws {@link ChainError}
   */
  estimate(call: Call): Promise<GasLimit | NoGasLimit>
}

/** Why there is no limit for a transfer. */
export type NoGasLimit = 'reverts' | 'exceeds_cap'

/** What gas a transfer may take. */
export interface GasLimit {
  /** In a transaction of its own. */
  readonly gas: bigint
  /** Code of its payer's runs in it, and could take the gas of others. */
  readonly isAlone: boolean
  /** What it takes in a shared transaction, where that was measured. */
  readonly gasShare?: GasShare | undefined
}

/**
 * Keeps gas limits.
 *
 * A transfer of an account without code is measured by the look at it. What others took bounds it: no
 * payer can make the transfers of others more expensive, nor his own without bounds.
 */
export function createGasLimits({ chain }: Pick<SettlementNetwork, 'chain'>): GasLimits {
  const samples = new LRUCache<Address, bigint[]>({ max: SAMPLES.tokens })
  let networkGas: { readonly gas: bigint; readonly until: number } | undefined

  const bounded = (token: Address, gas: bigint): bigint => {
    const known = samples.get(token) ?? []
    const most = known.length < SAMPLES.enough ? gas : median(known) * MOST_MEDIANS
    samples.set(token, [...known, gas].slice(-SAMPLES.kept))
    return gas < most ? gas : most
  }

  /**
   * What the network takes for a transaction's bytes beside what Ethereum does: Arbitrum has them pay
   * for their place on Ethereum in gas. Asked by a transaction that runs no code.
   */
  const askNetworkGas = async ({ from, data }: Call): Promise<bigint> => {
    if (from === undefined) return 0n
    if (networkGas !== undefined && performance.now() < networkGas.until) return networkGas.gas
    const asked = await chain.estimateGas({ from, to: from, data })
    if (typeof asked !== 'bigint') return 0n
    const [intrinsic, floor] = [intrinsicGas(data), floorGas(data)]
    const usual = intrinsic > floor ? intrinsic : floor
    const gas = asked > usual ? asked - usual : 0n
    if (gas > MAX_NETWORK_GAS) throw implausible(asked)
    networkGas = { gas, until: performance.now() + NETWORK_GAS_MAX_AGE_MS }
    return gas
  }

  const askNode = async (call: Call): Promise<GasLimit | 'reverts'> => {
    const gas = await chain.estimateGas(call)
    if (typeof gas !== 'bigint') return 'reverts'
    if (gas > MAX_GAS + MAX_NETWORK_GAS) throw implausible(gas)
    return { gas: percent(gas, HEADROOM_PERCENT) + FIRST_BALANCE_GAS, isAlone: false }
  }

  return {
    async limitOf({ authorization }, call, look) {
      if (look.gas === undefined) return askNode(call)
      const { from: payer, to: payee } = authorization
      const { isFirstBalance, sharedGas } = look
      const execution = bounded(call.to, look.gas)
      const ofNetwork = await askNetworkGas(call)
      const measured = intrinsicGas(call.data) + execution + ofNetwork
      return {
        gas: isFirstBalance ? percent(measured, HEADROOM_PERCENT) : withFirstBalance(measured),
        isAlone: false,
        gasShare: {
          ...{ token: call.to, payer, payee, execution, sharedGas, isFirstBalance },
          networkGas: ofNetwork,
        },
      }
    },
    async estimate(call) {
      const gas = await chain.estimateGas(call, await chain.getFees())
      if (typeof gas !== 'bigint') return 'reverts'
      if (gas > MAX_GAS) return 'exceeds_cap'
      return { gas: percent(gas, HEADROOM_PERCENT), isAlone: true }
    },
  }
}

/** Thrown for an answer that would make every transaction impossible to send. */
function implausible(gas: bigint): ChainError {
  return new ChainError(
    'chain_refused',
    `The node answered eth_estimateGas with ${gas} gas, which no transfer takes.`,
  )
}

/** The payee may give away all that he has before the transaction is mined. */
function withFirstBalance(measured: bigint): bigint {
  const wanted = percent(measured, HEADROOM_PERCENT)
  const most = percent(measured, MOST_PERCENT)
  const atFirst = measured + FIRST_BALANCE_GAS + FIRST_BALANCE_GAS / 10n
  if (atFirst <= wanted) return wanted
  return atFirst < most ? atFirst : most
}

function median(values: readonly bigint[]): bigint {
  const sorted = values.toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  return sorted[Math.floor(sorted.length / 2)] ?? 0n
}
