/** Why nothing is sent now. */
import type { Chain } from '../chain/chain.js'
import { ChainError, RelayerError } from '../../shared/errors.js'
import { gasTokenOf } from '../../shared/protocol/networks.js'
import type { Address } from '../../shared/protocol/payment.js'

/**
 * No relayer has enough native currency for gas.
 *
 * @param relayers - The accounts of the network.
 */
export function withoutFunds({ network }: Pick<Chain, 'network'>, relayers: readonly Address[]) {
  const token = gasTokenOf(network)
  const message =
    relayers.length === 1
      ? `Relayer ${relayers[0]} on ${network.name} is out of gas money. Send ${token} to it.`
      : `Relayers ${relayers.join(', ')} on ${network.name} are out of gas money. Send ${token} to one of them.`
  return new RelayerError('relayer_without_funds', message)
}

/** Gas costs more than the operator's cap. */
export function gasPriceTooHigh({ network }: Chain): RelayerError {
  return new RelayerError(
    'gas_price_too_high',
    `Gas on ${network.name} costs more than maxFeePerGasGwei allows. Raise it, or wait.`,
  )
}

/** An earlier broadcast is unknown: another transaction would wait behind it. */
export function earlierUnknown({ network }: Chain): ChainError {
  return new ChainError(
    'chain_unreachable',
    `The node of ${network.caip2} does not say whether it has an earlier transaction.`,
  )
}
