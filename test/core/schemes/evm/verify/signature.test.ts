import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { concatHex, hexToBigInt, numberToHex, slice } from 'viem/utils'
import { serializeErc6492Signature } from 'viem/utils'
import { privateKeyToAccount } from 'viem/accounts'
import { PAYERS } from '../../../../../src/tools/devnet/accounts.js'
import { lowerHex } from '../../../../../src/shared/protocol/hex.js'
import {
  parseEcdsaSignature,
  recoverSigner,
  unwrapErc6492,
} from '../../../../../src/core/schemes/evm/verify/signature.js'
import type { Hex } from '../../../../../src/shared/protocol/payment.js'
import { rewrite, SECP256K1_ORDER as N } from '../../../../support/rewrite-signature.js'

const payer = PAYERS[0]!
const account = privateKeyToAccount(payer.privateKey)
const digests = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`)

const pieces = (r: bigint, s: bigint, v: number): Hex =>
  concatHex([
    numberToHex(r, { size: 32 }),
    numberToHex(s, { size: 32 }),
    numberToHex(v, { size: 1 }),
  ])

describe('a signature', () => {
  it('is read in each of its forms as the same signature of its payer', async () => {
    await fc.assert(
      fc.asyncProperty(digests, async (hash) => {
        const signed = await account.sign({ hash })
        const plain = parseEcdsaSignature(signed)
        expect(plain).toBeDefined()
        expect(await recoverSigner(hash, plain!)).toBe(lowerHex(payer.address))
        for (const form of Object.values(rewrite(signed)))
          expect(parseEcdsaSignature(form)).toEqual(plain)
      }),
      { numRuns: 25 },
    )
  })

  it('is passed to the token with a low s, and v 27 or 28', async () => {
    const hash = `0x${'11'.repeat(32)}` as const
    const { highS } = rewrite(await account.sign({ hash }))
    expect(hexToBigInt(slice(highS, 32, 64))).toBeGreaterThan(N / 2n)
    const { s, v } = parseEcdsaSignature(highS)!
    expect(BigInt(s)).toBeLessThanOrEqual(N / 2n)
    expect([27, 28]).toContain(v)
  })

  it.each([0, 1, 27, 28])('is accepted with v %d', (v) => {
    expect(parseEcdsaSignature(pieces(1n, 1n, v))?.v).toBe(v < 27 ? v + 27 : v)
  })

  it.each([2, 26, 29, 255])('is refused with v %d', (v) => {
    expect(parseEcdsaSignature(pieces(1n, 1n, v))).toBeUndefined()
  })

  it('is accepted with r and s at the ends of their range', () => {
    expect(parseEcdsaSignature(pieces(1n, 1n, 27))).toBeDefined()
    expect(parseEcdsaSignature(pieces(N - 1n, N - 1n, 27))).toBeDefined()
  })

  it.each([
    ['r of zero', 0n, 1n],
    ['r of n', N, 1n],
    ['r above n', 2n ** 256n - 1n, 1n],
    ['s of zero', 1n, 0n],
    ['s of n', 1n, N],
    ['s above n', 1n, 2n ** 256n - 1n],
  ])('is refused with %s', (_name, r, s) => {
    expect(parseEcdsaSignature(pieces(r, s, 27))).toBeUndefined()
  })

  it.each([0, 1, 63, 66, 96])('is refused with a length of %d bytes', (length) => {
    expect(parseEcdsaSignature(`0x${'01'.repeat(length)}`)).toBeUndefined()
  })

  it('has no signer if r is no point of the curve', async () => {
    const signature = parseEcdsaSignature(pieces(5n, 1n, 27))!
    expect(await recoverSigner(`0x${'22'.repeat(32)}`, signature)).toBeUndefined()
  })

  describe('in an ERC-6492 wrapper', () => {
    const suffix = '6492'.repeat(16)
    const wrap = (signature: Hex) =>
      serializeErc6492Signature({ address: `0x${'22'.repeat(20)}`, data: '0xabcd', signature })

    it('is unwrapped, and is left alone without a wrapper', () => {
      expect(unwrapErc6492(wrap('0xabcdef'))).toEqual({
        signature: '0xabcdef',
        deployment: { to: `0x${'22'.repeat(20)}`, data: '0xabcd' },
      })
      for (const plain of ['0x01', `0x${suffix}01`] as const)
        expect(unwrapErc6492(plain)).toEqual({ signature: plain, deployment: undefined })
    })

    it.each([
      ['without anything in it', `0x${suffix}`],
      ['cut short', `0x${wrap('0xabcdef').slice(2 + 64)}`],
      ['whose parts lie outside of it', `0x${'11'.repeat(96)}${suffix}`],
      ['around nothing', wrap('0x')],
      ['around another wrapper', wrap(wrap('0xabcdef'))],
    ] as const)('is not read from one %s', (_name, wrapped) => {
      expect(unwrapErc6492(wrapped)).toBeUndefined()
    })
  })
})
