import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Counters } from '../../../../../src/ledger/counters.js'
import type { LedgerStore } from '../../../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../../../src/ledger/memory-ledger.js'
import type { Address, Hex } from '../../../../../src/shared/protocol/payment.js'
import { CodeGas } from '../../../../../src/core/schemes/evm/network/code-gas.js'
import { PayerGuard } from '../../../../../src/core/schemes/evm/network/payer-guard.js'
import type { CheckedTransfer } from '../../../../../src/core/schemes/evm/network/gas-limits.js'
import { FAILURE, newEntry, steps } from '../../../../support/ledger-entries.js'

const hex = (byte: string, bytes: number): Hex => `0x${byte.repeat(bytes)}`
const hashOf = (index: number): Hex => `0x${index.toString(16).padStart(64, '0')}`
const payerOf = (index: number): Address => `0x${index.toString(16).padStart(40, '0')}`
const CODE = hex('cc', 32)
const OTHER_CODE = hex('dd', 32)
const LATER = BigInt(Math.floor(Date.now() / 1000) + 300)
const REFUSED = 'payer_temporarily_refused'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
let ledger: LedgerStore
let counters: Counters
let transactions = 0
/** How far the clock of the gateway is ahead (ms). */
let later = 0
/** How far the clock of the ledger is behind (ms). */
let age = 0
beforeEach(() => {
  later = 0
  age = 0
  ledger = createMemoryLedger({ now: () => Date.now() - age })
  counters = new Counters({ store: ledger.counts, logger: silent, now: Date.now })
})
afterEach(async () => {
  await counters.close()
  await ledger.close()
})

const newGuard = (onLoss?: (loss: { readonly gas: bigint }) => void): PayerGuard => {
  const codeGas = new CodeGas({ chainId: 84532, counters, store: ledger.counts, now: Date.now })
  return new PayerGuard({
    ...{ codeGas, payments: ledger.payments, onLoss },
    now: () => Date.now() + later,
  })
}
const keyOf = (index: number) =>
  ({ chainId: 84532, contract: hex('aa', 20), from: payerOf(index), nonce: hashOf(index) }) as const
const checked = (gas: bigint, codeHash: Hex | undefined = CODE): CheckedTransfer =>
  ({ simulation: { codeHash }, limit: { gas, isAlone: true } }) as CheckedTransfer

/** A payer of that many payments, by the ledger. */
const paidBefore = async (store: LedgerStore, count = 1): Promise<Address> => {
  const { from } = newEntry()
  for (let index = 0; index < count; index++) await steps.settled(store, newEntry({ from }))
  return from
}

interface Mined {
  readonly payer: Address
  readonly codeHash: Hex | undefined
  readonly gasUsed: bigint
}
const mine = async (guard: PayerGuard, { payer, codeHash, gasUsed }: Mined): Promise<Hex> => {
  await guard.refusalOf(payer, codeHash)
  const transaction = hashOf(1_000_000 + ++transactions)
  guard.addReceipt({ transaction, gasUsed, logs: [] } as never)
  return transaction
}
const fail = async (guard: PayerGuard, mined: Mined): Promise<void> =>
  guard.countFailed({ ...keyOf(0), from: mined.payer }, await mine(guard, mined))
const pay = async (guard: PayerGuard, mined: Mined): Promise<void> =>
  guard.countPaid({ ...keyOf(0), from: mined.payer }, await mine(guard, mined))

describe('the gas that payers with code have pending', () => {
  it('counts once, however often a payment is presented, until it has ended', () => {
    const guard = newGuard()
    expect(guard.take(keyOf(1), checked(900_000n), LATER)).toBe(true)
    expect(guard.take(keyOf(1), checked(900_000n), LATER)).toBe(true)
    expect(guard.take(keyOf(2), checked(900_000n), LATER)).toBe(false)
    guard.end(keyOf(1))
    expect(guard.take(keyOf(2), checked(900_000n), LATER)).toBe(true)
  })

  it('counts only until the authorization lapses', () => {
    const guard = newGuard()
    const past = BigInt(Math.floor(Date.now() / 1000) - 120)
    expect(guard.take(keyOf(1), checked(900_000n), past)).toBe(true)
    expect(guard.take(keyOf(2), checked(900_000n), LATER)).toBe(true)
  })

  it('lapses by the clock of the gateway', () => {
    const guard = newGuard()
    expect(guard.take(keyOf(1), checked(900_000n), LATER)).toBe(true)
    later = 3_600_000
    expect(guard.take(keyOf(2), checked(900_000n), LATER + 3600n)).toBe(true)
  })

  it('counts only against its own code', () => {
    const guard = newGuard()
    expect(guard.take(keyOf(1), checked(900_000n), LATER)).toBe(true)
    expect(guard.take(keyOf(2), checked(900_000n, OTHER_CODE), LATER)).toBe(true)
  })
})

describe('the gas that a wallet code has lost', () => {
  it('refuses that code once it exceeds its credit, and no other', async () => {
    const guard = newGuard()
    await fail(guard, { payer: payerOf(1), codeHash: CODE, gasUsed: 1_000_001n })
    expect(await guard.refusalOf(payerOf(2), CODE)).toBe(REFUSED)
    expect(await guard.refusalOf(payerOf(3), OTHER_CODE)).toBeUndefined()
  })

  it('is covered by half of the gas that its payments took, and by no more', async () => {
    const guard = newGuard()
    const payment = { payer: payerOf(1), codeHash: CODE, gasUsed: 100_000n }
    for (let index = 0; index < 40; index++) await pay(guard, payment)
    await fail(guard, { payer: payerOf(2), codeHash: CODE, gasUsed: 2_900_000n })
    expect(await guard.refusalOf(payerOf(3), CODE)).toBeUndefined()
    await fail(guard, { payer: payerOf(4), codeHash: CODE, gasUsed: 200_000n })
    expect(await guard.refusalOf(payerOf(3), CODE)).toBe(REFUSED)
  })

  it('refuses new codes once all of them have lost too much, and none that has earned its credit', async () => {
    const told: bigint[] = []
    const guard = newGuard(({ gas }) => told.push(gas))
    const earner = { payer: payerOf(1), codeHash: OTHER_CODE, gasUsed: 100_000n }
    for (let index = 0; index < 40; index++) await pay(guard, earner)
    for (let index = 10; index < 16; index++) {
      const mined = { payer: payerOf(index), codeHash: hashOf(index), gasUsed: 900_000n }
      guard.take(keyOf(index), checked(100_000n, mined.codeHash), LATER)
      guard.countFailed(keyOf(index), await mine(guard, mined))
      guard.end(keyOf(index))
    }
    expect(guard.take(keyOf(2), checked(100_000n), LATER)).toBe(false)
    expect(guard.take(keyOf(3), checked(100_000n, OTHER_CODE), LATER)).toBe(true)
    expect(await guard.refusalOf(payerOf(4), undefined)).toBeUndefined()
    expect(told).toHaveLength(1)
  })

  it('outlives a restart, and is known to every gateway of the ledger', async () => {
    await fail(newGuard(), { payer: payerOf(1), codeHash: CODE, gasUsed: 1_000_001n })
    expect(await newGuard().refusalOf(payerOf(2), CODE)).toBe(REFUSED)
    expect(await newGuard().refusalOf(payerOf(2), OTHER_CODE)).toBeUndefined()
  })

  it('is charged to the code that a payment was sent for, whatever its payer has become', async () => {
    const guard = newGuard()
    expect(guard.take(keyOf(1), checked(900_000n), LATER)).toBe(true)
    const transaction = await mine(guard, {
      payer: payerOf(1),
      codeHash: OTHER_CODE,
      gasUsed: 1_000_001n,
    })
    guard.countFailed(keyOf(1), transaction)
    guard.end(keyOf(1))
    expect(await guard.refusalOf(payerOf(2), CODE)).toBe(REFUSED)
    expect(await guard.refusalOf(payerOf(3), OTHER_CODE)).toBeUndefined()
  })

  it('makes its payer wait', async () => {
    const guard = newGuard()
    await fail(guard, { payer: payerOf(1), codeHash: CODE, gasUsed: 80_000n })
    expect(await guard.refusalOf(payerOf(1), CODE)).toBe(REFUSED)
    expect(await guard.refusalOf(payerOf(2), CODE)).toBeUndefined()
  })
})

describe('the gas that payers without code have lost', () => {
  const lose = async (guard: PayerGuard, count: number): Promise<void> => {
    for (let index = 100; index < 100 + count; index++)
      await fail(guard, { payer: payerOf(index), codeHash: undefined, gasUsed: 100_000n })
  }

  it('keeps payers that never paid out of shared transactions, then refuses them, and no others', async () => {
    const told: bigint[] = []
    const guard = newGuard(({ gas }) => told.push(gas))
    const known = payerOf(1)
    await pay(guard, { payer: known, codeHash: undefined, gasUsed: 80_000n })
    expect(guard.places.mustGoAlone(payerOf(2))).toBe(false)
    await lose(guard, 40)
    expect(told).toEqual([])
    expect([known, payerOf(2)].map((payer) => guard.places.mustGoAlone(payer))).toEqual([
      false,
      true,
    ])
    expect(await guard.refusalOf(payerOf(2), undefined)).toBeUndefined()
    await lose(guard, 20)
    expect(told).toHaveLength(1)
    expect(await guard.refusalOf(payerOf(2), undefined)).toBe(REFUSED)
    expect(await guard.refusalOf(known, undefined)).toBeUndefined()
    expect(await guard.refusalOf(payerOf(2), CODE)).toBeUndefined()
  })

  it('stops no refund: its payer is a merchant, who is known', async () => {
    const guard = newGuard()
    await lose(guard, 60)
    expect(await guard.refusalOf(payerOf(2), undefined)).toBe(REFUSED)
    expect(await guard.refusalOf(payerOf(2), undefined, true)).toBeUndefined()
    const refund = { ...keyOf(2), refundOf: 'a payment' }
    for (const nonce of [1, 2, 3].map(hashOf))
      expect(await guard.places.take({ ...refund, nonce }, LATER)).toBe(false)
  })

  it('is covered by half of what their payments took', async () => {
    const guard = newGuard()
    for (let index = 0; index < 40; index++)
      await pay(guard, { payer: payerOf(1), codeHash: undefined, gasUsed: 60_000n })
    await lose(guard, 60)
    expect(await guard.refusalOf(payerOf(2), undefined)).toBeUndefined()
  })

  it('outlives a restart, and so does what a payer has paid', async () => {
    await lose(newGuard(), 60)
    const known = await paidBefore(ledger)
    expect(await newGuard().refusalOf(payerOf(2), undefined)).toBe(REFUSED)
    expect(await newGuard().refusalOf(known, undefined)).toBeUndefined()
  })

  it('is theirs, too, if they got code after they were simulated', async () => {
    const guard = newGuard()
    for (let index = 100; index < 160; index++)
      await fail(guard, { payer: payerOf(index), codeHash: hashOf(index), gasUsed: 100_000n })
    expect(guard.places.mustGoAlone(payerOf(2))).toBe(true)
    expect(await guard.refusalOf(payerOf(2), CODE)).toBeUndefined()
  })
})

describe('the payments of a payer that are on their way', () => {
  const keys = Array.from({ length: 20 }, (_, index) => ({ ...keyOf(1), nonce: hashOf(index) }))
  /** Lets them go on their way. @returns Those that are, by their numbers. */
  const start = (guard: PayerGuard, all = keys) => {
    const started: number[] = []
    for (const [index, key] of all.entries())
      void guard.places.take(key, LATER).then(() => started.push(index))
    return started
  }
  /** Everybody who has asked the ledger by now has its answer. */
  const settled = async () => {
    await ledger.payments.find(keys[0]!)
    await new Promise(setImmediate)
  }

  it('are four, until one has paid; then as many more as have paid', async () => {
    const guard = newGuard()
    const started = start(guard)
    await settled()
    expect(started).toEqual([0, 1, 2, 3])
    for (const key of keys.slice(0, 4)) guard.countPaid(key, hashOf(1))
    for (const key of keys.slice(0, 4)) guard.end(key)
    await settled()
    expect(started).toHaveLength(12)
    for (const key of keys.slice(4, 12)) guard.end(key)
    await settled()
    expect(started).toHaveLength(20)
  })

  it('are as many more as it had paid before the gateway started', async () => {
    const from = await paidBefore(ledger, 6)
    const started = start(
      newGuard(),
      keys.map((key) => ({ ...key, from })),
    )
    await settled()
    expect(started).toHaveLength(10)
  })

  it('are one at a time once payments of the payer have failed', async () => {
    const { from } = keys[0]!
    for (let index = 0; index < 4; index++) await steps.failed(ledger, newEntry({ from }))
    const guard = newGuard()
    for (const key of keys.slice(0, 4)) guard.countFailed(key, hashOf(1))
    const started = start(guard)
    await settled()
    expect(started).toEqual([0])
  })

  it.each([
    ['of long ago', 2 * 3_600_000, FAILURE.reason],
    ['that cost nothing', 0, 'invalid_exact_evm_payload_authorization_valid_before'],
  ] as const)('are none the less for failures %s', async (_name, ms, reason) => {
    const from = await paidBefore(ledger, 6)
    age = ms
    for (let index = 0; index < 4; index++) {
      const entry = newEntry({ from })
      await steps.submitted(ledger, entry)
      await ledger.payments.markFailed(entry, { ...FAILURE, reason })
    }
    age = 0
    const started = start(
      newGuard(),
      keys.map((key) => ({ ...key, from })),
    )
    await settled()
    expect(started).toHaveLength(10)
  })

  it('have their payer looked up once, however many wait, and count what is paid meanwhile', async () => {
    const from = await paidBefore(ledger, 3)
    const list = jest.spyOn(ledger.payments, 'list')
    const all = keys.map((key) => ({ ...key, from }))
    const guard = newGuard()
    const started = start(guard, all)
    guard.countPaid(all[0]!, hashOf(1))
    await settled()
    expect(list).toHaveBeenCalledTimes(2)
    expect(started).toHaveLength(8)
  })

  it('count until their authorization lapses, and those of other payers do not wait', async () => {
    const guard = newGuard()
    const past = BigInt(Math.floor(Date.now() / 1000) - 120)
    for (const key of keys.slice(0, 4)) await guard.places.take(key, past)
    expect(await guard.places.take(keys[4]!, LATER)).toBe(false)
    const started = start(guard)
    await settled()
    expect(started).toHaveLength(4)
    expect(await guard.places.take(keyOf(2), LATER)).toBe(false)
  })

  it('wait no longer than those before them can be mined, though nothing tells of their end', async () => {
    const guard = newGuard()
    for (const key of keys.slice(0, 4)) await guard.places.take(key, LATER)
    const waiting = guard.places.take(keys[4]!, LATER)
    await settled()
    later += 2 * 3_600_000
    expect(await waiting).toBe(true)
  })

  it('wait no more once they are over', async () => {
    const guard = newGuard()
    for (const key of keys.slice(0, 4)) await guard.places.take(key, LATER)
    let isOver = false
    const waiting = guard.places.take(keys[4]!, LATER, () => isOver)
    await settled()
    isOver = true
    guard.end(keys[4]!)
    expect(await waiting).toBe(true)
  })
})
