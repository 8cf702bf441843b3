import type { Chain } from '../../../chain/chain.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import { methodOf } from '../transfer-methods.js'
import { clockCall, wordOf } from '../transfer/reads.js'

export interface NonceState {
  /** Used or cancelled; unknown where its contract does not say. */
  readonly isUsed: boolean | undefined
  /** The block's time, in Unix seconds; unknown where there is no Multicall3. */
  readonly time: bigint | undefined
}

/** Asks whether the nonces of payments were used up, as {@link NonceState.isUsed}. @throws {@link ChainError} */
export async function readUses(
  chain: Chain,
  keys: readonly PaymentKey[],
): Promise<readonly (boolean | undefined)[]> {
  const states = await chain.callMany(keys.map((key) => methodOf(key).stateCall(key)))
  return keys.map((key, index) => methodOf(key).isUsed(states[index], key))
}

/** Asks whether a payment's nonce was used up, and for the time of the block. @throws {@link ChainError} */
export async function readNonce(chain: Chain, key: PaymentKey): Promise<NonceState> {
  const method = methodOf(key)
  const [state, time] = await chain.callMany([method.stateCall(key), clockCall()])
  return { isUsed: method.isUsed(state, key), time: wordOf(time) }
}
