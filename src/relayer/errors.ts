/** Why nothing is sent now. */
import type { Chain } from '../chain/chain.js'
import { ChainError, RelayerError } from '../errors.js'

/** No relayer has enough native currency for gas. */
export function withoutFunds({ network }: Chain): RelayerError {
  return new RelayerError(
    'relayer_without_funds',
    `No relayer on ${network.caip2} can pay for gas: send native currency to one.`,
  )
}

/** Gas costs more than the operator's cap. */
export function gasPriceTooHigh({ network }: Chain): RelayerError {
  return new RelayerError(
    'gas_price_too_high',
    `Gas on ${network.caip2} costs more than this gateway may pay now.`,
  )
}

/** An earlier broadcast is unknown: another transaction would wait behind it. */
export function earlierUnknown({ network }: Chain): ChainError {
  return new ChainError(
    'chain_unreachable',
    `The node of ${network.caip2} does not say whether it has an earlier transaction.`,
  )
}
