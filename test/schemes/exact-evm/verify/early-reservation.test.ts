import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { LedgerError } from '../../../../src/errors.js'
import type { LedgerEntry, LedgerStore } from '../../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../../src/ledger/memory-ledger.js'
import type { Hex, PaymentPayload, PaymentRequirements } from '../../../../src/protocol/payment.js'
import {
  EarlyReservation,
  ProvenPayers,
  ReservationPause,
} from '../../../../src/schemes/exact-evm/verify/early-reservation.js'
import { isRefusal } from '../../../../src/schemes/scheme.js'
import {
  askNode,
  offerOf,
  openCore,
  termsOf,
  type Core,
  type CoreOptions,
} from '../../../support/core.js'
import { decoded } from '../../../support/decoded.js'
import { balanceOf, useDevnet } from '../../../support/devnet.js'
import { newPayer } from '../../../support/on-chain.js'
import { patchedLedger } from '../../../support/patched-ledger.js'
import { type Fault, type RpcProxy, startRpcProxy } from '../../../support/rpc-proxy.js'
import { newNonce, signPayment, type TestPayer } from '../../../support/sign-payment.js'

const devnet = useDevnet()
/** More than a payer has. */
const TOO_MUCH = '2000000'
let offer: PaymentRequirements
let proxy: RpcProxy
const cores: Core[] = []

beforeEach(async () => {
  offer = offerOf(devnet)
  proxy = await startRpcProxy(devnet.rpcUrl)
})
afterEach(async () => {
  for (const core of cores.splice(0)) core.close()
  await proxy.close()
})

function open(options?: CoreOptions): Core {
  const core = openCore(devnet, { ...options, rpcUrl: proxy.url })
  cores.push(core)
  return core
}

const keyOf = (payment: PaymentPayload) => decoded(payment, offer).key
const settle = ({ facilitator }: Core, payment: PaymentPayload) =>
  facilitator.settle(payment, offer, termsOf(devnet))
const reserve = ({ facilitator }: Core, payment: PaymentPayload) =>
  facilitator.reserve(decoded(payment, offer), termsOf(devnet))

/** A payer of whom a payment was delivered. */
async function provenPayer(core: Core): Promise<TestPayer> {
  const payer = await newPayer(devnet)
  expect(await settle(core, await signPayment(payer, offer))).toMatchObject({ success: true })
  return payer
}

/** Keeps simulations waiting: `asked` resolves when one has come, `answer` lets all of them end. */
function holdSimulations() {
  const [asked, answered] = [withResolvers(), withResolvers()]
  let fault: Fault | undefined
  proxy.fault = async (method) => {
    if (method !== 'eth_call') return undefined
    asked.resolve()
    await answered.promise
    return fault
  }
  return {
    asked: asked.promise,
    answer(by?: Fault) {
      fault = by
      answered.resolve()
    },
  }
}

function withResolvers() {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

/** Reserves a payment. @returns Whether the ledger had it before the chain answered, and what came of it. */
async function reserveSlowly(core: Core, payment: PaymentPayload, by?: Fault) {
  const { asked, answer } = holdSimulations()
  const reserving = reserve(core, payment)
  await asked
  const record = await core.ledger.payments.find(keyOf(payment))
  answer(by)
  const reserved = await reserving.catch((error: unknown) => error as Error)
  proxy.fault = undefined
  return { isEarly: record?.state === 'reserved', reserved }
}

describe('a payment whose payer has paid before', () => {
  it('is reserved while the chain is asked about it, and is settled once', async () => {
    const core = open()
    const payer = await provenPayer(core)
    const payment = await signPayment(payer, offer)
    const before = await balanceOf(devnet, devnet.merchant.address)
    const { isEarly, reserved } = await reserveSlowly(core, payment)
    expect(isEarly).toBe(true)
    if (reserved instanceof Error || isRefusal(reserved)) throw new Error('It was not reserved.')
    expect(await reserve(core, payment)).toMatchObject({ refused: 'duplicate_settlement' })
    expect(await reserved.settle()).toMatchObject({ success: true })
    await reserved.markDelivered()
    expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(10_000n)
  })

  it('leaves no record if its payer cannot cover it, and is valid once he can', async () => {
    const core = open()
    const payer = await provenPayer(core)
    const expensive = { ...offer, amount: TOO_MUCH }
    const payment = await signPayment(payer, expensive)
    const refuse = () => core.facilitator.reserve(decoded(payment, expensive), termsOf(devnet))
    expect(await refuse()).toMatchObject({ refused: 'insufficient_funds' })
    expect(await core.ledger.payments.find(keyOf(payment))).toBeUndefined()
    await devnet.mint(payer.address, BigInt(TOO_MUCH))
    expect(isRefusal(await refuse())).toBe(false)
  })

  it('leaves no record if the chain cannot be reached, and is valid once it can', async () => {
    const core = open()
    const payment = await signPayment(await provenPayer(core), offer)
    const { isEarly, reserved } = await reserveSlowly(core, payment, { kind: 'http', status: 503 })
    expect(isEarly).toBe(true)
    expect(reserved).toMatchObject({ name: 'ChainError' })
    expect(await core.ledger.payments.find(keyOf(payment))).toBeUndefined()
    expect(await settle(core, payment)).toMatchObject({ success: true })
  })

  it('leaves no record if the relayer has no gas money', async () => {
    const core = open()
    const payment = await signPayment(await provenPayer(core), offer)
    const { address } = core.relayer
    const balance = await askNode(devnet, 'eth_getBalance', address, 'latest')
    await askNode(devnet, 'anvil_setBalance', address, '0x0')
    try {
      // What is known of the relayer is read from the chain again when a transaction cannot be paid for.
      const other = await signPayment(await newPayer(devnet), offer)
      await settle(core, other).catch(() => undefined)
      await expect(reserve(core, payment)).rejects.toMatchObject({ code: 'relayer_without_funds' })
      expect(await core.ledger.payments.find(keyOf(payment))).toBeUndefined()
    } finally {
      await askNode(devnet, 'anvil_setBalance', address, balance)
    }
  })

  it('is refused while the ledger cannot be written, and is valid afterwards', async () => {
    const store = createMemoryLedger()
    let isBroken = false
    const ledger: LedgerStore = patchedLedger(store, {
      reserve: async (entry) => {
        if (isBroken) throw new LedgerError('ledger_unavailable', 'The database does not answer.')
        return store.payments.reserve(entry)
      },
    })
    const core = open({ ledger })
    const payment = await signPayment(await provenPayer(core), offer)
    isBroken = true
    await expect(reserve(core, payment)).rejects.toMatchObject({ code: 'ledger_unavailable' })
    isBroken = false
    expect(await settle(core, payment)).toMatchObject({ success: true })
  })
})

describe('a payment is not reserved before the chain has answered', () => {
  it('if its payer has paid nothing yet', async () => {
    const core = open()
    const payment = await signPayment(await newPayer(devnet), offer)
    const { isEarly, reserved } = await reserveSlowly(core, payment)
    expect(isEarly).toBe(false)
    expect(isRefusal(reserved)).toBe(false)
  })

  it('if its payer has another payment in progress that was, because each payment earns one', async () => {
    const core = open()
    const payer = await provenPayer(core)
    const two = [await signPayment(payer, offer), await signPayment(payer, offer)] as const
    const { asked, answer } = holdSimulations()
    const reserving = two.map((payment) => reserve(core, payment))
    await asked
    const records = await Promise.all(
      two.map((payment) => core.ledger.payments.find(keyOf(payment))),
    )
    answer()
    for (const reserved of await Promise.all(reserving)) expect(isRefusal(reserved)).toBe(false)
    expect(records.filter((record) => record !== undefined)).toHaveLength(1)
  })

  it('if its payer was refused since his last payment', async () => {
    const core = open()
    const payer = await provenPayer(core)
    const expensive = { ...offer, amount: TOO_MUCH }
    const uncovered = decoded(await signPayment(payer, expensive), expensive)
    const refused = await core.facilitator.reserve(uncovered, termsOf(devnet))
    expect(refused).toMatchObject({ refused: 'insufficient_funds' })
    expect(await reserveSlowly(core, await signPayment(payer, offer))).toMatchObject({
      isEarly: false,
    })
  })

  it('if somebody else has signed it, which uses up nothing of the named payer’s', async () => {
    const core = open()
    const payer = await provenPayer(core)
    const { privateKey } = await newPayer(devnet)
    const forged = await signPayment({ ...payer, privateKey }, offer)
    const { isEarly, reserved } = await reserveSlowly(core, forged)
    expect(isEarly).toBe(false)
    expect(reserved).toMatchObject({ refused: 'invalid_exact_evm_payload_signature' })
    expect(await reserveSlowly(core, await signPayment(payer, offer))).toMatchObject({
      isEarly: true,
    })
  })

  it('if it is only verified', async () => {
    const core = open()
    const payment = await signPayment(await provenPayer(core), offer)
    const { asked, answer } = holdSimulations()
    const verifying = core.facilitator.verify(payment, offer, termsOf(devnet))
    await asked
    const record = await core.ledger.payments.find(keyOf(payment))
    answer()
    expect(await verifying).toMatchObject({ isValid: true })
    expect(record).toBeUndefined()
  })
})

describe('early reservations', () => {
  it('start together if they come while a transaction is being sent, and at once otherwise', async () => {
    const { entry, provenPayers, ledger } = openEarly()
    const relayers = { isSending: true }
    const reservationPause = new ReservationPause()
    const early = () => new EarlyReservation(ledger, { provenPayers, reservationPause, relayers })
    const [first, second, third] = [entry(), entry(), entry()]
    const [one, other, alone] = [early(), early(), early()]
    one.start(first)
    other.start(second)
    expect(ledger.reserved).toEqual([])
    expect(await one.reserve(first)).toBeUndefined()
    expect(ledger.reserved).toEqual([first, second])
    relayers.isSending = false
    alone.start(third)
    expect(ledger.reserved).toEqual([first, second, third])
    await Promise.all([other.reserve(second), alone.reserve(third)])
  })

  it('are undone if their payment is refused before they have started', async () => {
    const { entry, provenPayers, ledger } = openEarly()
    const reservationPause = new ReservationPause()
    const relayers = { isSending: true }
    const early = new EarlyReservation(ledger, { provenPayers, reservationPause, relayers })
    const refused = entry()
    early.start(refused)
    await early.undo(refused)
    expect(ledger.reserved).toEqual([refused])
    expect(await ledger.payments.find(refused)).toBeUndefined()
  })
})

/** A ledger that notes which reservations have begun, and payers who have paid before. */
function openEarly() {
  const memory = createMemoryLedger()
  const reserved: LedgerEntry[] = []
  const ledger = Object.assign(
    patchedLedger(memory, {
      reserve(entry) {
        reserved.push(entry)
        return memory.payments.reserve(entry)
      },
    }),
    { reserved },
  )
  const provenPayers = new ProvenPayers()
  const entry = (): LedgerEntry => {
    const from: Hex = `0x${randomBytes(20).toString('hex')}`
    provenPayers.add(from)
    const key = { chainId: 84532, asset: devnet.asset, from, nonce: newNonce() }
    return { ...key, payTo: devnet.merchant.address, value: 1n, validBefore: 2n ** 40n }
  }
  return { entry, provenPayers, ledger }
}
