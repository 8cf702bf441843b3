import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import { hashText, typedDataDigest, Words } from '../../../../shared/crypto/eip712.js'

const TRANSFER_TYPE_HASH = hashText(
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)

/** What the payer's wallet signed: the EIP-712 digest of an ERC-3009 authorization. */
export function authorizationDigest(facts: Omit<PaymentFacts, 'signed'>, separator: Hex): Hex {
  const { payer, payTo, amount, validAfter, validBefore, nonce } = facts
  const struct = new Words(7)
    .bytes(TRANSFER_TYPE_HASH)
    .address(payer)
    .address(payTo)
    .number(amount)
    .number(validAfter)
    .number(validBefore)
    .hex(nonce)
    .hash()
  return typedDataDigest(separator, struct)
}
