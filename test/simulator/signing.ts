/** Buyers' signatures, made fast: all with one and the same random number, which no key outside a simulation survives. */
import { createECDH } from 'node:crypto'
import { hashDomain } from 'viem'
import { authorizationDigest } from '../../src/core/schemes/evm/erc3009/digest.js'
import {
  EXACT_SPENDER,
  permit2Separator,
  UPTO_SPENDER,
} from '../../src/core/schemes/evm/permit2/contracts.js'
import { permitDigest } from '../../src/core/schemes/evm/permit2/digest.js'
import { PERMIT2 } from '../../src/core/schemes/evm/transfer/address.js'
import { SECP256K1_ORDER as N } from '../../src/shared/crypto/native-secp256k1.js'
import { addressOfKey } from '../../src/shared/crypto/address-of-key.js'
import { addressWord, word } from '../../src/core/chain/abi.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { TOKEN, type Signed } from './chain.js'

const TOKEN_SEPARATOR = hashDomain({
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

const PERMIT2_SEPARATOR = permit2Separator(84532)

/** `transferWithAuthorization` with the signature of a key, and with that of an account with code. */
const TRANSFER = { byKey: '0xe3ee160e', byBytes: '0xcf092995' }

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
  /** Whether it is a contract, which says itself what it has signed (ERC-1271). */
  readonly hasCode: boolean
}

export function accountOf(key: bigint, { hasCode = false } = {}): Account {
  return { address: addressOfKey(`0x${word(key)}`), key, hasCode }
}

export type Terms = Pick<Signed, 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce'>

/** What was signed, and the `payload` that says so. */
export interface SignedPayment {
  readonly signed: Signed
  readonly payload: object
}

/** Signs an authorization of the token (ERC-3009). */
export function signAuthorization(account: Account, terms: Terms): SignedPayment {
  const { to, value, validAfter, validBefore, nonce } = terms
  const facts = factsOf(account, terms)
  const signature = sign(account, authorizationDigest(facts, TOKEN_SEPARATOR))
  const words = [
    addressWord(account.address),
    addressWord(to as Hex),
    ...[value, validAfter, validBefore].map(word),
    nonce.slice(2),
  ].join('')
  const data = account.hasCode
    ? `${TRANSFER.byBytes}${words}${word(7 * 32)}${bytesWords(signature)}`
    : `${TRANSFER.byKey}${words}${keyWords(signature)}`
  const from = account.address.toLowerCase()
  const window = { validAfter: String(validAfter), validBefore: String(validBefore) }
  return {
    signed: { ...terms, from, contract: TOKEN, call: { to: TOKEN, data } },
    payload: { authorization: { from, to, nonce, value: String(value), ...window }, signature },
  }
}

/**
 * Signs a permit of Permit2 for a spender of x402.
 *
 * @param facilitator - Who says how much of the amount is taken. @defaultValue all of it is
 */
export function signPermit(account: Account, terms: Terms, facilitator?: string): SignedPayment {
  const { to, value, validAfter, validBefore, nonce } = terms
  const { address: spender, selectors } = facilitator === undefined ? EXACT_SPENDER : UPTO_SPENDER
  const permit = { token: TOKEN, spender, facilitator, signature: '0x', extensions: undefined }
  const facts = { ...factsOf(account, terms), contract: PERMIT2, signed: permit }
  const signature = sign(account, permitDigest(facts, PERMIT2_SEPARATOR))
  const from = account.address.toLowerCase()
  const before = [addressWord(TOKEN), word(value), nonce.slice(2), word(validBefore)]
  const charge = facilitator === undefined ? [] : [word(0)]
  const parties = [from, to, ...(facilitator === undefined ? [] : [facilitator])]
  const witness = [...parties.map((one) => addressWord(one as Hex)), word(validAfter)]
  const head = [...before, ...charge, ...witness]
  const rest = word(32 * (head.length + 1)) + bytesWords(signature)
  const call = { to: spender, data: `${selectors.settle}${head.join('')}${rest}` }
  const metered = facilitator && { caller: facilitator, chargeAt: 10 + 64 * before.length }
  return {
    signed: { ...terms, from, contract: PERMIT2, call, ...(metered && { metered }) },
    payload: {
      signature,
      permit2Authorization: {
        from,
        permitted: { token: TOKEN, amount: String(value) },
        spender,
        nonce,
        deadline: String(validBefore),
        witness: { to, ...(facilitator && { facilitator }), validAfter: String(validAfter) },
      },
    },
  }
}

function factsOf({ address: payer }: Account, terms: Terms) {
  const { to: payTo, value: amount, validAfter, validBefore, nonce } = terms
  return { payer, payTo: payTo as Hex, amount, validAfter, validBefore, nonce: nonce as Hex }
}

/** Signs a digest as a key does, or in the way of the simulated accounts: with the digest, three times. */
function sign({ key, hasCode }: Account, digest: Hex): Hex {
  if (hasCode) return approvalOf(digest)
  let s = (INVERSE * ((BigInt(digest) + POINT.r * key) % N)) % N
  let isOdd = POINT.isOdd
  if (s > N / 2n) {
    s = N - s
    isOdd = !isOdd
  }
  return `0x${word(POINT.r)}${word(s)}${isOdd ? '1c' : '1b'}`
}

/** The only signature that accounts with code call their own. */
export function approvalOf(digest: Hex): Hex {
  return `0x${digest.slice(2).repeat(3)}`
}

/** `v`, `r` and `s`. */
function keyWords(signature: Hex): string {
  return word(BigInt(`0x${signature.slice(130)}`)) + signature.slice(2, 130)
}

/** Bytes by the rules of the ABI. */
function bytesWords(bytes: Hex): string {
  const digits = bytes.slice(2)
  return word(digits.length / 2) + digits.padEnd(64 * Math.ceil(digits.length / 64), '0')
}
