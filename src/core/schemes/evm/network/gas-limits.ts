import { LRUCache } from 'lru-cache'
import type { Chain } from '../../../chain/chain.js'
import type { Call } from '../../../chain/types.js'
import { floorGas, intrinsicGas } from '../../../chain/intrinsic-gas.js'
import { ChainError } from '../../../../shared/errors.js'
import type { Address } from '../../../../shared/protocol/payment.js'
import {
  FIRST_BALANCE_GAS,
  MOST_PERCENT,
  percent,
  type GasShare,
} from '../../../relayer/batch-gas.js'
import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import type { TransferSimulation } from './simulate.js'
import { world } from '../../../../shared/world.js'

/**
 * Gas limit of a single transfer, in percent of its estimate or measurement: calls two deep leave two 64ths
 * behind (EIP-150), 3.2 %. The rest covers state that changes before it is mined.
 */
const HEADROOM_PERCENT = 110n

/**
 * Most gas a settlement may take. A contract account's own code runs in it, at our expense; accounts
 * that check passkeys in plain EVM code take about half of this.
 */
const MAX_GAS = 1_000_000n

/** Gas of past transfers that is remembered: tokens, transfers of each, and how many are enough. */
const SAMPLES = { tokens: 1000, kept: 31, enough: 5 }

/** Most gas of a transfer, in medians of the token's last transfers. Twice leaves room for a first balance. */
const MOST_MEDIANS = 2n

/** How long a network's gas for a transaction's bytes is cached (ms). */
const NETWORK_GAS_MAX_AGE_MS = 600_000

/** Most gas that a network is believed to take for them; Arbitrum takes some 100,000. */
const MAX_NETWORK_GAS = 2_000_000n

export type NoGasLimit = 'reverts' | 'exceeds_cap'

export interface GasLimit {
  /** In a transaction of its own. */
  readonly gas: bigint
  /** Whether it runs its payer's code, which could take the gas of other members of a batch. */
  readonly isAlone: boolean
  /** Its gas in a batch, where that was measured. */
  readonly gasShare?: GasShare | undefined
}

/** A transfer that the chain would make now. */
export interface CheckedTransfer {
  readonly simulation: TransferSimulation
  /** Present for a payer with code, whose transfer was estimated; else the simulation measured it. */
  readonly limit?: GasLimit | undefined
  /** The relayer that it was estimated for, and that must send it: a payer's code may look at it. */
  readonly sender?: Address | undefined
  /** Goes before the transfer, in the same transaction: the payer had no code. */
  readonly deployment?: Call | undefined
}

interface MeasuredCall {
  readonly call: Call
  readonly token: Address
  /** A relayer that may send it, itself or through an executor. */
  readonly relayer: Address
}

/**
 * Gas limits of settlements on one network.
 *
 * A transfer of an account without code is measured by its simulation, and bounded by what earlier
 * transfers of the token took: no payer can make the transfers of others more expensive, nor its own
 * without bounds.
 */
export class GasLimits {
  readonly #chain: Chain
  /** By what is called for which token: execution gas of its last transfers. */
  readonly #samples = new LRUCache<string, bigint[]>({ max: SAMPLES.tokens })
  /** Gas that the network takes on top of Ethereum's, and until when it is cached (`world.elapsed()`). */
  #networkGas: { readonly gas: bigint; readonly until: number } | undefined

  constructor(chain: Chain) {
    this.#chain = chain
  }

  /**
   * The gas limit of a transfer whose payer has no code, from its simulation.
   *
   * @returns Or that it would fail.
   */
  async limitOf(
    { payer, payTo: payee }: PaymentFacts,
    { call, token, relayer }: MeasuredCall,
    simulation: TransferSimulation,
  ): Promise<GasLimit | 'reverts'> {
    if (simulation.gas === undefined) return this.#estimateByNode(call)
    const { isFirstBalance, sharedGas } = simulation
    const execution = this.#bounded(`${call.to}:${token}:${call.data.slice(0, 10)}`, simulation.gas)
    const networkGas = await this.#askNetworkGas({ ...call, from: relayer })
    const measured = intrinsicGas(call.data) + execution + networkGas
    const spender = call.to === token ? undefined : call.to
    return {
      gas: isFirstBalance ? percent(measured, HEADROOM_PERCENT) : withFirstBalance(measured),
      isAlone: false,
      gasShare: { token, payer, payee, spender, execution, sharedGas, isFirstBalance, networkGas },
    }
  }

  /**
   * The gas limit of a transfer that runs its payer's code. The node always estimates it, with the fees
   * it will be sent with. It is never batched.
   *
   * @param isSender - Whether the call comes from a relayer; an executor could not pay fees. @defaultValue true
   * @returns Or that it would fail, or cost more than we pay.
   */
  async estimate(call: Call, { isSender = true } = {}): Promise<GasLimit | NoGasLimit> {
    const fees = isSender ? await this.#chain.getFees() : undefined
    const gas = await this.#chain.estimateGas(call, fees)
    if (typeof gas !== 'bigint') return 'reverts'
    if (gas > MAX_GAS) return 'exceeds_cap'
    return { gas: percent(gas, HEADROOM_PERCENT), isAlone: true }
  }

  async #estimateByNode(call: Call): Promise<GasLimit | 'reverts'> {
    const gas = await this.#chain.estimateGas(call)
    if (typeof gas !== 'bigint') return 'reverts'
    if (gas > MAX_GAS + MAX_NETWORK_GAS) throw implausible(gas)
    return { gas: percent(gas, HEADROOM_PERCENT) + FIRST_BALANCE_GAS, isAlone: false }
  }

  #bounded(transfer: string, gas: bigint): bigint {
    const known = this.#samples.get(transfer) ?? []
    const most = known.length < SAMPLES.enough ? gas : median(known) * MOST_MEDIANS
    this.#samples.set(transfer, [...known, gas].slice(-SAMPLES.kept))
    return gas < most ? gas : most
  }

  /**
   * Gas that the network takes for a transaction's bytes beyond Ethereum's: Arbitrum charges for their
   * place on Ethereum in gas. Measured by estimating a transaction that runs no code.
   */
  async #askNetworkGas({ from, data }: Call): Promise<bigint> {
    if (from === undefined) return 0n
    if (this.#networkGas !== undefined && world.elapsed() < this.#networkGas.until)
      return this.#networkGas.gas
    const asked = await this.#chain.estimateGas({ from, to: from, data })
    if (typeof asked !== 'bigint') return 0n
    const [intrinsic, floor] = [intrinsicGas(data), floorGas(data)]
    const usual = intrinsic > floor ? intrinsic : floor
    const gas = asked > usual ? asked - usual : 0n
    if (gas > MAX_NETWORK_GAS) throw implausible(asked)
    this.#networkGas = { gas, until: world.elapsed() + NETWORK_GAS_MAX_AGE_MS }
    return gas
  }
}

/** An estimate that would make every transaction impossible to send. */
function implausible(gas: bigint): ChainError {
  return new ChainError(
    'chain_refused',
    `The node answered eth_estimateGas with ${gas} gas, which no transfer takes.`,
  )
}

/** Adds room for a first balance: the payee may spend all its tokens before this is mined. */
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
