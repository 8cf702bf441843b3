import { LRUCache } from 'lru-cache'
import type { Call } from '../../chain/chain.js'
import type { Address } from '../../protocol/payment.js'
import type { NetworkCore } from './network-core.js'
import type { SignedTransfer } from './transfer-call.js'

/** Room above an estimate, in percent: balances of other accounts may move meanwhile. */
const HEADROOM_PERCENT = 20n

/** Room above another payment's estimate: its payee may have had a balance, this one's none. */
const FIRST_BALANCE_GAS = 25_000n

/**
 * Most gas a settlement may take. A contract account's own code runs in it, at our expense; those
 * that check passkeys in plain EVM code take about half of this.
 */
const MAX_GAS = 1_000_000n

/** Milliseconds for which a token's transfers are taken to cost what one did. */
const MAX_AGE_MS = 600_000

/** Gas limits of settlements on one network. */
export interface GasBook {
  /**
   * Tells what gas limit a transfer needs, and whether it must go alone.
   *
   * @returns Or that it would fail, or cost more than we are willing to pay.
   * @throws {@link ChainError}
   */
  limitOf(transfer: SignedTransfer, call: Call): Promise<GasLimit | NoLimit>
  /** The same, asked of the node in any case. @throws {@link ChainError} */
  estimate(call: Call, payer: Address): Promise<GasLimit | NoLimit>
}

/** Why there is no limit for a transfer. */
export type NoLimit = 'reverts' | 'too_dear'

/** What gas a transfer may take. */
export interface GasLimit {
  readonly gas: bigint
  /** Code of its payer's runs in it, and could take the gas of others. */
  readonly isAlone: boolean
}

/**
 * Keeps gas limits by token: what ordinary accounts' transfers cost is asked of the node once.
 *
 * An account with code is asked for by itself each time: it decides what checking its signature costs.
 */
export function createGasBook({ chain }: Pick<NetworkCore, 'chain'>): GasBook {
  const byToken = new LRUCache<Address, bigint>({ max: 1000, ttl: MAX_AGE_MS })

  const estimate = async (call: Call): Promise<bigint | NoLimit> => {
    const gas = await chain.estimateGas(call)
    if (typeof gas !== 'bigint') return 'reverts'
    return gas <= MAX_GAS ? gas : 'too_dear'
  }

  return {
    async limitOf({ authorization, signature }, call) {
      const isAlone = typeof signature === 'string' || (await chain.hasCode(authorization.from))
      const known = isAlone ? undefined : byToken.get(call.to)
      if (known !== undefined) return { gas: withRoom(known) + FIRST_BALANCE_GAS, isAlone }
      const gas = await estimate(call)
      if (typeof gas === 'string') return gas
      if (!isAlone) byToken.set(call.to, gas)
      return { gas: withRoom(gas), isAlone }
    },
    async estimate(call, payer) {
      const gas = await estimate(call)
      if (typeof gas === 'string') return gas
      return { gas: withRoom(gas), isAlone: await chain.hasCode(payer) }
    },
  }
}

function withRoom(gas: bigint): bigint {
  return gas + (gas * HEADROOM_PERCENT) / 100n
}
