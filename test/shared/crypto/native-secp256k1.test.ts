import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { concatHex, hexToBigInt, numberToHex, slice } from 'viem/utils'
import { privateKeyToAccount } from 'viem/accounts'
import { PAYERS } from '../../../src/tools/devnet/accounts.js'
import { lowerHex } from '../../../src/shared/protocol/hex.js'
import { nativeRecovery } from '../../../src/shared/crypto/native-secp256k1.js'
import {
  chooseRecovery,
  parseEcdsaSignature,
  recoverSigner,
} from '../../../src/core/schemes/evm/verify/signature.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { rewrite, SECP256K1_ORDER as N } from '../../support/rewrite-signature.js'

const recoverKey = nativeRecovery()
const native = chooseRecovery(recoverKey)
const viem = chooseRecovery(undefined)

const payer = PAYERS[0]!
const account = privateKeyToAccount(payer.privateKey)

const word = (value: bigint): Hex => numberToHex(value, { size: 32 })
const bytes = (hex: Hex): Uint8Array => Buffer.from(hex.slice(2), 'hex')
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })

/** Where arithmetic goes wrong, if it does: the ends of the range, the middle, and beyond. */
const edges = [0n, 1n, 2n, 5n, N / 2n, N / 2n + 1n, N - 2n, N - 1n, N, N + 1n, 2n ** 256n - 1n]
/** Order of the field, which is a little above the group's: an `r` of such a point has wrapped. */
const P = 2n ** 256n - 2n ** 32n - 977n
const rOfWrapped = fc.constantFrom(P - 1n - N, P - N, P - N + 1n)
const scalars = fc.oneof(fc.constantFrom(...edges), rOfWrapped, uint256)
const signatures = fc.oneof(
  fc
    .record({ r: scalars, s: scalars, v: fc.constantFrom(0, 1, 27, 28) })
    .map(({ r, s, v }) => concatHex([word(r), word(s), numberToHex(v, { size: 1 })])),
  // EIP-2098.
  fc
    .record({ r: scalars, yParityAndS: uint256 })
    .map((one) => concatHex([word(one.r), word(one.yParityAndS)])),
)

describe('recovery by libsecp256k1', () => {
  it('is available on the usual systems', () => {
    const isUsual = ['linux-x64', 'darwin-arm64', 'win32-x64'].includes(
      `${process.platform}-${process.arch}`,
    )
    expect(!isUsual || recoverKey !== undefined).toBe(true)
  })

  it('recovers the signer as viem does, in whichever form', async () => {
    await fc.assert(
      fc.asyncProperty(uint256.map(word), async (digest) => {
        const signed = await account.sign({ hash: digest })
        for (const form of [signed, ...Object.values(rewrite(signed))]) {
          const signature = parseEcdsaSignature(form)!
          expect(await native(digest, signature)).toBe(lowerHex(payer.address))
          expect(await viem(digest, signature)).toBe(lowerHex(payer.address))
        }
      }),
      { numRuns: 25 },
    )
  })

  it('answers as viem does for any input', async () => {
    await fc.assert(
      fc.asyncProperty(scalars.map(word), signatures, async (digest, bytes) => {
        const signature = parseEcdsaSignature(bytes)
        fc.pre(signature !== undefined)
        expect(await native(digest, signature)).toBe(await viem(digest, signature))
      }),
      { numRuns: 500 },
    )
  })

  it('recovers no key where it would be the point at infinity', async () => {
    const secret = fc.bigInt({ min: 1n, max: N - 1n })
    const lowS = fc.bigInt({ min: 1n, max: N / 2n })
    await fc.assert(
      fc.asyncProperty(secret, lowS, async (k, s) => {
        // The point `kG` is the public key of `k`; what is signed is `sk`, so that `sR - zG = 0`.
        const { publicKey } = privateKeyToAccount(word(k))
        const isOdd = hexToBigInt(slice(publicKey, 33)) % 2n === 1n
        const r = word(hexToBigInt(slice(publicKey, 1, 33)) % N)
        const signature = { r, s: word(s), v: isOdd ? 28 : 27 } as const
        const digest = word((s * k) % N)
        expect(await native(digest, signature)).toBeUndefined()
        expect(await viem(digest, signature)).toBeUndefined()
      }),
      { numRuns: 20 },
    )
  })

  it('refuses invalid signatures without any check before', () => {
    const digest = bytes(word(7n))
    for (const [r, s] of [
      [0n, 1n],
      [1n, 0n],
      [N, 1n],
      [1n, N],
      [2n ** 256n - 1n, 1n],
      [5n, 1n],
    ] as const) {
      const rs = bytes(concatHex([word(r), word(s)]))
      expect(recoverKey?.({ digest, rs, yParity: 0 })).toBeUndefined()
      expect(recoverKey?.({ digest, rs, yParity: 1 })).toBeUndefined()
    }
  })
})

describe('without libsecp256k1', () => {
  const digest = word(1n)

  it.each([
    [
      'the package is missing',
      () => {
        throw new Error('Cannot find module')
      },
    ],
    ['it has no such function', () => ({})],
    ['it answers wrongly', () => ({ ecdsaRecover: () => new Uint8Array(65) })],
  ])('has no native recovery where %s', (_case, load) => {
    expect(nativeRecovery(load)).toBeUndefined()
  })

  it('finds the same signer with viem', async () => {
    const signature = parseEcdsaSignature(await account.sign({ hash: digest }))!
    expect(await viem(digest, signature)).toBe(lowerHex(payer.address))
    expect(await recoverSigner(digest, signature)).toBe(lowerHex(payer.address))
  })
})
