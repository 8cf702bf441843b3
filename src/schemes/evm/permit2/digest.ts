import type { Hex } from '../../../protocol/payment.js'
import { hashText, typedDataDigest, Words } from '../eip712.js'
import type { Spender } from './contracts.js'
import type { SignedPermit } from './payload.js'

const PERMISSIONS_TYPE_HASH = hashText('TokenPermissions(address token,uint256 amount)')

/** What the payer's wallet signed: the EIP-712 digest of a permit, with the spender's witness. */
export function permitDigest(permit: SignedPermit, by: Spender, separator: Hex): Hex {
  const { token, amount, spender, nonce, deadline } = permit
  const permitted = new Words(3).bytes(PERMISSIONS_TYPE_HASH).address(token).number(amount).hash()
  const struct = new Words(6)
    .bytes(by.typeHash)
    .bytes(permitted)
    .address(spender)
    .number(nonce)
    .number(deadline)
    .bytes(witnessHash(permit, by))
    .hash()
  return typedDataDigest(separator, struct)
}

function witnessHash(
  { witness: { to, facilitator, validAfter } }: SignedPermit,
  { witnessTypeHash, isMetered }: Spender,
): Uint8Array {
  const words = new Words(isMetered ? 4 : 3).bytes(witnessTypeHash).address(to)
  if (isMetered && facilitator !== undefined) words.address(facilitator)
  return words.number(validAfter).hash()
}
