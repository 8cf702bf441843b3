import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import { hashText, typedDataDigest, Words } from '../../../../shared/crypto/eip712.js'
import { spenderOf } from './contracts.js'
import { signedPermitOf } from './payload.js'

const PERMISSIONS_TYPE_HASH = hashText('TokenPermissions(address token,uint256 amount)')

/** What the payer's wallet signed: the EIP-712 digest of a permit, with the spender's witness. */
export function permitDigest(facts: PaymentFacts, separator: Hex): Hex {
  const { payTo, amount, nonce, validAfter, validBefore } = facts
  const { token, spender, facilitator } = signedPermitOf(facts)
  const { typeHash, witnessTypeHash, isMetered } = spenderOf({ spender })
  const permitted = new Words(3).bytes(PERMISSIONS_TYPE_HASH).address(token).number(amount).hash()
  const witness = new Words(isMetered ? 4 : 3).bytes(witnessTypeHash).address(payTo)
  if (isMetered && facilitator !== undefined) witness.address(facilitator)
  const struct = new Words(6)
    .bytes(typeHash)
    .bytes(permitted)
    .address(spender)
    .hex(nonce)
    .number(validBefore)
    .bytes(witness.number(validAfter).hash())
    .hash()
  return typedDataDigest(separator, struct)
}
