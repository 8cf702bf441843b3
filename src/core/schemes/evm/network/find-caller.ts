import { sameHex } from '../../../../shared/protocol/hex.js'
import type { Address } from '../../../../shared/protocol/payment.js'
import type { Executor } from '../../../relayer/executors.js'
import type { SettlementNetwork } from './settlement-network.js'

/** Who makes the call of a payment that names its caller: a relayer, or an executor for our relayers. */
export type Caller =
  | { readonly sender: Address; readonly executor?: undefined }
  | { readonly executor: Executor; readonly sender?: undefined }

/**
 * Finds the caller that a payer has named.
 *
 * @returns `undefined` if it is no relayer of this network, and no executor that they may call.
 * @throws {@link ChainError}
 */
export async function findCaller(
  { relayers }: Pick<SettlementNetwork, 'relayers'>,
  named: Address,
): Promise<Caller | undefined> {
  const sender = relayers.addresses.find((one) => sameHex(one, named))
  if (sender !== undefined) return { sender }
  const executor = await relayers.executors?.find(named)
  return executor && { executor }
}
