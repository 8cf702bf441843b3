import { describe, expect, it } from '@jest/globals'
import type { CheckedTransfer } from '../../../src/schemes/exact-evm/verify/checked-transfer.js'
import { PayerGuard } from '../../../src/schemes/exact-evm/payer-guard.js'
import type { Address, Hex } from '../../../src/protocol/payment.js'

const hex = (byte: string, bytes: number): Hex => `0x${byte.repeat(bytes)}`
const payerOf = (index: number): Address => hex(String(10 + (index % 90)), 20)
const hashOf = (index: number): Hex => `0x${index.toString(16).padStart(64, '0')}`
const CODE = hex('cc', 32)
const LATER = BigInt(Math.floor(Date.now() / 1000) + 300)

const keyOf = (index: number) =>
  ({ chainId: 84532, asset: hex('aa', 20), from: payerOf(index), nonce: hashOf(index) }) as const
const checked = (gas: bigint, codeHash: Hex | undefined = CODE): CheckedTransfer =>
  ({ simulation: { codeHash }, limit: { gas, isAlone: true } }) as CheckedTransfer
const fail = (guard: PayerGuard, index: number, gasUsed: bigint): void => {
  const transaction = hashOf(1000 + index)
  guard.noteReceipt({ transaction, gasUsed, logs: [] } as never)
  guard.noteFailed(payerOf(index), transaction)
}

describe('the gas that payers with code have pending', () => {
  it('counts once, however often a payment is presented, until it has ended', () => {
    const guard = new PayerGuard()
    expect(guard.take(keyOf(1), checked(900_000n), LATER)).toBe(true)
    expect(guard.take(keyOf(1), checked(900_000n), LATER)).toBe(true)
    expect(guard.take(keyOf(2), checked(900_000n), LATER)).toBe(false)
    guard.end(keyOf(1))
    expect(guard.take(keyOf(2), checked(900_000n), LATER)).toBe(true)
  })

  it('counts no longer than an authorization lives', () => {
    const guard = new PayerGuard()
    const past = BigInt(Math.floor(Date.now() / 1000) - 120)
    expect(guard.take(keyOf(1), checked(900_000n), past)).toBe(true)
    expect(guard.take(keyOf(2), checked(900_000n), LATER)).toBe(true)
  })
})

describe('the gas that was lost', () => {
  it('by ordinary payers is told, and refuses no payer with code', () => {
    const told: bigint[] = []
    const guard = new PayerGuard({ onLoss: ({ gas }) => told.push(gas) })
    for (let index = 0; index < 60; index++) {
      guard.refusalOf(payerOf(index), undefined)
      fail(guard, index, 100_000n)
    }
    expect(told).toHaveLength(1)
    expect(guard.refusalOf(hex('ee', 20), CODE)).toBeUndefined()
  })

  it('by payers with code refuses others with unknown code', () => {
    const guard = new PayerGuard()
    for (let index = 0; index < 6; index++) {
      guard.refusalOf(payerOf(index), hashOf(index))
      fail(guard, index, 900_000n)
    }
    expect(guard.refusalOf(hex('ee', 20), CODE)).toBe('payer_temporarily_refused')
    expect(guard.refusalOf(hex('ee', 20), undefined)).toBeUndefined()
  })

  it('by payers who spent their money meanwhile is not told of their code', () => {
    const [cheap, costly] = [new PayerGuard(), new PayerGuard()]
    for (let index = 0; index < 4; index++) {
      cheap.refusalOf(payerOf(index), CODE)
      fail(cheap, index, 80_000n)
      costly.refusalOf(payerOf(index), CODE)
      fail(costly, index, 600_000n)
    }
    expect(cheap.refusalOf(hex('ee', 20), CODE)).toBeUndefined()
    expect(costly.refusalOf(hex('ee', 20), CODE)).toBe('payer_temporarily_refused')
    // Each of them waits by himself.
    expect(cheap.refusalOf(payerOf(1), CODE)).toBe('payer_temporarily_refused')
  })
})
