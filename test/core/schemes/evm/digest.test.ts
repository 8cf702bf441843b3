import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { hashDomain, hashTypedData } from 'viem'
import { lowerHex } from '../../../../src/shared/protocol/hex.js'
import { domainSeparator, type TokenDomain } from '../../../../src/shared/crypto/eip712.js'
import { authorizationDigest } from '../../../../src/core/schemes/evm/erc3009/digest.js'
import type { Hex } from '../../../../src/shared/protocol/payment.js'
import { transferTypes } from '../../../support/sign-payment.js'

const hex = (bytes: number): fc.Arbitrary<Hex> =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((array) => `0x${Buffer.from(array).toString('hex')}` as const)
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })

const domains = fc.record({
  name: fc.string(),
  version: fc.string(),
  chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  verifyingContract: hex(20),
})
const authorizations = fc.record({
  from: hex(20),
  to: hex(20),
  value: uint256,
  validAfter: uint256,
  validBefore: uint256,
  nonce: hex(32),
})

const types = {
  // Written out: viem leaves empty members of a domain out of its type.
  EIP712Domain: [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ],
  ...transferTypes,
} as const

const onWire = (domain: TokenDomain) => ({ ...domain, chainId: BigInt(domain.chainId) })

describe('the digest of an authorization', () => {
  it('equals what a wallet signs, for every domain and authorization', () => {
    fc.assert(
      fc.property(domains, authorizations, (domain, message) => {
        const { from: payer, to: payTo, value: amount, ...window } = message
        const facts = { payer, payTo, amount, ...window }
        const digest = authorizationDigest(facts, domainSeparator(domain))
        const primaryType = 'TransferWithAuthorization'
        expect(digest).toBe(hashTypedData({ domain: onWire(domain), types, primaryType, message }))
      }),
    )
  })

  it("contains the domain's own hash, whatever the case of its address", () => {
    fc.assert(
      fc.property(domains, (domain) => {
        const upper = `0x${domain.verifyingContract.slice(2).toUpperCase()}` as const
        const separator = domainSeparator({ ...domain, verifyingContract: lowerHex(upper) })
        expect(separator).toBe(hashDomain({ domain: onWire(domain), types }))
      }),
    )
  })
})
