import type { Hex } from '../../../protocol/payment.js'
import { hashText, typedDataDigest, Words } from '../eip712.js'
import { PERMIT2, type Spender } from './contracts.js'
import type { SignedPermit } from './payload.js'

const DOMAIN_TYPE_HASH = hashText(
  'EIP712Domain(string name,uint256 chainId,address verifyingContract)',
)
const DOMAIN_NAME = hashText('Permit2')
const PERMISSIONS_TYPE_HASH = hashText('TokenPermissions(address token,uint256 amount)')

/** Hashes the EIP-712 domain of Permit2, which has no version; done once per token. */
export function permit2Separator(chainId: number): Hex {
  return new Words(4)
    .bytes(DOMAIN_TYPE_HASH)
    .bytes(DOMAIN_NAME)
    .number(BigInt(chainId))
    .address(PERMIT2)
    .hashHex()
}

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
