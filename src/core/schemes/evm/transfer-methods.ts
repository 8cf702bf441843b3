/** The ways of moving a token that are spoken here. */
import { sameHex } from '../../../shared/protocol/hex.js'
import type { PaymentFacts } from '../../../shared/protocol/decoded-payment.js'
import type { PaymentKey } from '../../../shared/protocol/payment-key.js'
import { erc3009 } from './erc3009/erc3009.js'
import { PERMIT2 } from './transfer/address.js'
import { permit2 } from './permit2/permit2.js'
import type { TransferMethod } from './transfer/transfer-method.js'

/** The way in which a payment is made: of one that is presented, or of a record. */
export function methodOf({
  contract,
}: Pick<PaymentFacts, 'contract'> | PaymentKey): TransferMethod {
  return contract !== undefined && sameHex(contract, PERMIT2) ? permit2 : erc3009
}
