import { sameHex } from '../../../../shared/protocol/hex.js'
import type { Address } from '../../../../shared/protocol/payment.js'
import type { SettlementNetwork } from './settlement-network.js'

/** Who makes the call of a payment that names its caller: a relayer, or the executor of our relayers. */
export type Caller =
  | { readonly sender: Address; readonly executor?: undefined }
  | { readonly executor: Address; readonly sender?: undefined }

/**
 * Finds the caller that a payer has named.
 *
 * @returns `undefined` if it is no relayer of this network, and not their executor.
 */
export async function findCaller(
  { relayers }: Pick<SettlementNetwork, 'relayers'>,
  named: Address,
): Promise<Caller | undefined> {
  const sender = relayers.addresses.find((one) => sameHex(one, named))
  if (sender !== undefined) return { sender }
  const { executor } = relayers
  if (executor === undefined || !sameHex(executor.address, named)) return undefined
  return (await executor.isUsable()) ? { executor: executor.address } : undefined
}
