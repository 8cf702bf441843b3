/** Buyers' signatures, made fast: all with one and the same random number, which no key outside a simulation survives. */
import { createECDH } from 'node:crypto'
import { hashDomain } from 'viem'
import { authorizationDigest } from '../../src/core/schemes/evm/erc3009/digest.js'
import { SECP256K1_ORDER as N } from '../../src/shared/crypto/native-secp256k1.js'
import { addressOfKey } from '../../src/shared/crypto/address-of-key.js'
import { word } from '../../src/core/chain/abi.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { TOKEN, type Signed } from './chain.js'

const SEPARATOR = hashDomain({
  domain: { name: 'USDC', version: '2', chainId: 84532n, verifyingContract: TOKEN },
  types: {
    EIP712Domain: [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ],
  },
})

/** The number, its inverse, and its point on the curve: `r`, and whether `y` is odd. */
const K = 0x5eed5eed5eed5eed5eed5eed5eed5eedn
const POINT = pointOf(K)
const INVERSE = power(K, N - 2n)

function pointOf(scalar: bigint) {
  const curve = createECDH('secp256k1')
  curve.setPrivateKey(Buffer.from(word(scalar), 'hex'))
  const key = curve.getPublicKey()
  return { r: BigInt(`0x${key.subarray(1, 33).toString('hex')}`), isOdd: (key[64]! & 1) === 1 }
}

/** `base` to the `exponent`, modulo the curve's order. */
function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let rest = exponent, square = base; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % N
    square = (square * square) % N
  }
  return result
}

export interface Account {
  readonly address: Hex
  readonly key: bigint
}

export function accountOf(key: bigint): Account {
  return { address: addressOfKey(`0x${word(key)}`), key }
}

/** An authorization as payloads have it. */
export function authorizationOf({ from, to, value, validAfter, validBefore, nonce }: Signed) {
  const window = { validAfter: String(validAfter), validBefore: String(validBefore) }
  return { from, to, nonce, value: String(value), ...window }
}

/** Signs an authorization as its payer. */
export function signAuthorization(
  { address, key }: Account,
  terms: Omit<Signed, 'from' | 'signature'>,
): Signed & { readonly hex: Hex } {
  const { to, value, validAfter, validBefore, nonce } = terms
  const parties = { payer: address, payTo: to as Hex }
  const facts = { ...parties, amount: value, validAfter, validBefore, nonce: nonce as Hex }
  const digest = BigInt(authorizationDigest(facts, SEPARATOR))
  let s = (INVERSE * ((digest + POINT.r * key) % N)) % N
  let isOdd = POINT.isOdd
  if (s > N / 2n) {
    s = N - s
    isOdd = !isOdd
  }
  const [r, v] = [word(POINT.r), isOdd ? 28 : 27]
  return {
    ...terms,
    from: address.toLowerCase(),
    signature: word(v) + r + word(s),
    hex: `0x${r}${word(s)}${v.toString(16)}`,
  }
}
