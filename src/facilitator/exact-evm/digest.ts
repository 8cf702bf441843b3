import { concatHex, keccak256, numberToHex, padHex, stringToHex } from 'viem'
import type { Address, Hex } from '../../protocol/payment.js'
import type { Authorization } from './authorization.js'

const DOMAIN_TYPE_HASH = keccak256(
  stringToHex('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
)

const TRANSFER_TYPE_HASH = keccak256(
  stringToHex(
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
)

/** What an EIP-712 domain of a token is made of. */
export interface TokenDomain {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: Address
}

/** Hashes a token's EIP-712 domain; done once per token. */
export function domainSeparator({ name, version, chainId, verifyingContract }: TokenDomain): Hex {
  return keccak256(
    concatHex([
      DOMAIN_TYPE_HASH,
      keccak256(stringToHex(name)),
      keccak256(stringToHex(version)),
      word(BigInt(chainId)),
      padHex(verifyingContract),
    ]),
  )
}

/** What the payer's wallet signed: the EIP-712 digest of an ERC-3009 authorization. */
export function authorizationDigest(authorization: Authorization, separator: Hex): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const message = keccak256(
    concatHex([
      TRANSFER_TYPE_HASH,
      padHex(from),
      padHex(to),
      word(value),
      word(validAfter),
      word(validBefore),
      nonce,
    ]),
  )
  return keccak256(concatHex(['0x1901', separator, message]))
}

function word(value: bigint): Hex {
  return numberToHex(value, { size: 32 })
}
