import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { privateKeyToAccount } from 'viem/accounts'
import {
  nativeRecovery,
  nativeSigning,
  signInJavaScript,
} from '../../../src/shared/crypto/native-secp256k1.js'
import { createTransactionSigner } from '../../../src/core/relayer/sign-transaction.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'

const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`
const uint = (bits: number): fc.Arbitrary<bigint> => fc.bigInt({ min: 1n, max: 2n ** BigInt(bits) })
const transactions = fc.record({
  chainId: fc.integer({ min: 1, max: 1_000_000 }),
  accountNonce: fc.nat(),
  call: fc.record({
    to: fc.uint8Array({ minLength: 20, maxLength: 20 }).map(hexOf),
    data: fc.uint8Array({ maxLength: 70_000 }).map(hexOf),
  }),
  gas: uint(24),
  fees: fc.record({ maxFeePerGas: uint(60), maxPriorityFeePerGas: uint(30) }),
})
const keys = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .filter((bytes) => bytes[0]! < 0xff && bytes.some((byte) => byte > 0))
  .map(hexOf)

describe('createTransactionSigner', () => {
  it('signs exactly the bytes of viem, natively or not', async () => {
    await fc.assert(
      fc.asyncProperty(keys, transactions, async (privateKey, unsigned) => {
        const { chainId, accountNonce, call, gas, fees } = unsigned
        fc.pre(fees.maxPriorityFeePerGas <= fees.maxFeePerGas)
        const raw = await privateKeyToAccount(privateKey).signTransaction({
          type: 'eip1559',
          chainId,
          nonce: accountNonce,
          ...call,
          gas,
          ...fees,
        })
        for (const sign of [nativeSigning(), signInJavaScript])
          expect((await createTransactionSigner(privateKey, sign)(unsigned)).raw).toBe(raw)
      }),
    )
  })

  it('refuses malformed transactions: half an address, half a byte, a tip above the cap', async () => {
    const sign = createTransactionSigner(`0x${'5e'.repeat(32)}`)
    const to: Hex = `0x${'11'.repeat(20)}`
    const call = { to, data: '0x12' as const }
    const fees = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
    const unsigned = { chainId: 1, accountNonce: 0, call, gas: 21_000n, fees }
    await expect(sign(unsigned)).resolves.toMatchObject({ raw: expect.stringMatching(/^0x02/) })
    const cases = [
      ['is invalid', { call: { ...call, to: '0x11' } }],
      ['not pairs', { call: { ...call, data: '0x123' } }],
      ['not pairs', { call: { ...call, data: '0x12zz' } }],
      ['tip', { fees: { ...fees, maxPriorityFeePerGas: 3n } }],
    ] as const
    for (const [message, wrong] of cases)
      await expect(sign({ ...unsigned, ...wrong })).rejects.toThrow(message)
  })

  it('signs natively if signatures are recovered natively', () => {
    expect(nativeSigning() === undefined).toBe(nativeRecovery() === undefined)
  })

  it('does not use a broken addon', () => {
    expect(nativeSigning(() => ({ ecdsaRecover: () => new Uint8Array(65) }))).toBeUndefined()
  })
})
