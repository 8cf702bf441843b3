import { keccak, keccakHex } from '../../crypto/keccak.js'
import type { Authorization } from '../../protocol/authorization.js'
import type { Address, Hex } from '../../protocol/payment.js'

const DOMAIN_TYPE_HASH = hashText(
  'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
)

const TRANSFER_TYPE_HASH = hashText(
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)

const WORD_BYTES = 32
const ADDRESS_BYTES = 20

/** A token's EIP-712 domain. */
export interface TokenDomain {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: Address
}

/** Hashes a token's EIP-712 domain; done once per token. */
export function domainSeparator({ name, version, chainId, verifyingContract }: TokenDomain): Hex {
  const domain = Buffer.alloc(5 * WORD_BYTES)
  domain.set(DOMAIN_TYPE_HASH, 0)
  domain.set(hashText(name), WORD_BYTES)
  domain.set(hashText(version), 2 * WORD_BYTES)
  writeNumber(domain, 3, BigInt(chainId))
  writeAddress(domain, 4, verifyingContract)
  return keccakHex(domain)
}

/**
 * What the payer's wallet signed: the EIP-712 digest of an ERC-3009 authorization. By hand, with the domain hashed
 * once: 58 µs in place of 172 by viem.
 */
export function authorizationDigest(authorization: Authorization, separator: Hex): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const message = Buffer.alloc(7 * WORD_BYTES)
  message.set(TRANSFER_TYPE_HASH, 0)
  writeAddress(message, 1, from)
  writeAddress(message, 2, to)
  writeNumber(message, 3, value)
  writeNumber(message, 4, validAfter)
  writeNumber(message, 5, validBefore)
  writeHex(message, 6 * WORD_BYTES, nonce)

  const envelope = Buffer.alloc(2 + 2 * WORD_BYTES)
  envelope.writeUInt16BE(0x1901)
  writeHex(envelope, 2, separator)
  envelope.set(keccak(message), 2 + WORD_BYTES)
  return keccakHex(envelope)
}

function hashText(text: string): Uint8Array {
  return keccak(Buffer.from(text, 'utf8'))
}

function writeAddress(words: Buffer, word: number, address: Address): void {
  writeHex(words, (word + 1) * WORD_BYTES - ADDRESS_BYTES, address)
}

function writeNumber(words: Buffer, word: number, value: bigint): void {
  const digits = value.toString(16).padStart(2 * WORD_BYTES, '0')
  words.write(digits, word * WORD_BYTES, WORD_BYTES, 'hex')
}

function writeHex(bytes: Buffer, offset: number, hex: Hex): void {
  bytes.write(hex.slice(2), offset, 'hex')
}
