import { describe, expect, it } from '@jest/globals'
import { padHex } from 'viem'
import { CodeGas } from '../../../../../src/core/schemes/evm/network/code-gas.js'
import { Counters } from '../../../../../src/ledger/counters.js'
import { recordId, type LedgerStore } from '../../../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../../../src/ledger/memory-ledger.js'
import { isRefusal } from '../../../../../src/core/schemes/scheme.js'
import type { Hex, PaymentPayload } from '../../../../../src/shared/protocol/payment.js'
import { storeMakers } from '../../../../hostile/stores.js'
import { useCleanup, closedBy } from '../../../../support/cleanup.js'
import {
  askNode,
  offerOf,
  openCore,
  termsOf,
  usdc,
  type Core,
  type CoreOptions,
} from '../../../../support/core.js'
import { decoded } from '../../../../support/decoded.js'
import { balanceOf, useDevnet } from '../../../../support/devnet.js'
import {
  cancel,
  emptyAccount,
  newPayer,
  signedAuthorization,
  undo,
} from '../../../../support/on-chain.js'
import { startRpcProxy } from '../../../../support/rpc-proxy.js'
import { signPayment, type TestPayer } from '../../../../support/sign-payment.js'
import { until } from '../../../../support/until.js'
import { stopMining } from '../../../../support/mining.js'

type StoreMaker = (typeof storeMakers)[number][1]

/** What each account has at first, in units of the token. */
const HAS = 1_000_000n
const PRICE = 10_000n
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const devnet = useDevnet()
const toEnd = useCleanup()

function open(ledger: LedgerStore, reconcileIntervalMs = 100, options: CoreOptions = {}): Core {
  return closedBy(toEnd, openCore(devnet, { ledger, reconcileIntervalMs, ...options }))
}

/** Opens an empty ledger: as one process after the other, unless it is memory. */
async function openLedgers(make: StoreMaker): Promise<(() => LedgerStore) | undefined> {
  const store = await make()
  if (store === undefined) return undefined
  toEnd.push(() => store.drop())
  const openOne = (): LedgerStore => {
    return closedBy(toEnd, store.open())
  }
  const first = openOne()
  return store.name === 'memory' ? () => first : openOne
}

const keyOf = (payment: PaymentPayload) => {
  const { from, nonce } = signedAuthorization(payment)
  return { chainId: 84532, contract: devnet.asset, from, nonce }
}

/** A merchant is paid. */
async function sell(core: Core, merchant: TestPayer, buyer: TestPayer): Promise<Sent> {
  const offer = offerOf(devnet, { payTo: merchant.address })
  const payload = await signPayment(buyer, offer)
  const terms = { ...termsOf(devnet), payTo: merchant.address }
  const settled = await core.facilitator.settle(payload, offer, terms)
  expect(settled).toMatchObject({ success: true })
  return { payload, transaction: settled.transaction as Hex }
}

/** A merchant pays back. */
async function payBack(core: Core, merchant: TestPayer, payment: PaymentPayload): Promise<Sent> {
  const { from: payTo } = signedAuthorization(payment)
  const back = offerOf(devnet, { payTo })
  const payload = await signPayment(merchant, back)
  const reserved = await core.facilitator.reserve(
    decoded(payload, back),
    { payTo, accepts: [usdc], project: 'shop' },
    { isSettledNow: true, refundOf: recordId(keyOf(payment)) },
  )
  if (isRefusal(reserved)) throw new Error(reserved.refused)
  const paidBack = await reserved.settle()
  expect(paidBack).toMatchObject({ success: true })
  await reserved.markDelivered()
  return { payload, transaction: paidBack.transaction as Hex }
}

/** A payment and its refund, by a process that does not look after them later. */
async function sellAndPayBack(ledgers: () => LedgerStore) {
  const [merchant, buyer] = [await newPayer(devnet), await newPayer(devnet)]
  const first = open(ledgers(), 60_000)
  const payment = await sell(first, merchant, buyer)
  const refund = await payBack(first, merchant, payment.payload)
  return { first, merchant, buyer, payment, refund }
}

interface Sent {
  readonly payload: PaymentPayload
  readonly transaction: Hex
}

/** How a transaction is mined, if it is: as `eth_getTransactionReceipt` has it. */
const statusOf = async (transaction: Hex): Promise<string | undefined> =>
  (await askNode<{ status: string } | null>(devnet, 'eth_getTransactionReceipt', transaction))
    ?.status

/** The buyer makes sure that the payment can never be made again. */
const takesBack: [string, (buyer: TestPayer, payment: PaymentPayload) => Promise<void>][] = [
  ['has moved the money', (buyer) => emptyAccount(devnet, buyer)],
  ['has cancelled the authorization', (buyer, payment) => cancel(devnet, buyer, payment)],
]

describe.each(storeMakers)('a refund that a reorganisation undoes, kept in %s', (_name, make) => {
  it('is sent again, pays the buyer once, and notifies no listener', async () => {
    const ledgers = await openLedgers(make)
    if (ledgers === undefined) return
    const { first, buyer, refund } = await sellAndPayBack(ledgers)
    expect(first.happened()).toEqual(['verified', 'submitted', 'settled'])
    first.close()
    await undo(devnet, refund.transaction)
    expect(await balanceOf(devnet, buyer.address)).toBe(HAS - PRICE)
    const next = open(ledgers())
    await until(async () => (await balanceOf(devnet, buyer.address)) === HAS)
    const record = await next.ledger.payments.find(keyOf(refund.payload))
    expect(record).toMatchObject({ state: 'settled', delivered: true })
    expect(next.happened()).toEqual([])
    expect(next.errors).toEqual([])
  })

  it('is sent again in the same bytes after its payment if that was undone as well', async () => {
    const ledgers = await openLedgers(make)
    if (ledgers === undefined) return
    const { first, merchant, buyer, payment, refund } = await sellAndPayBack(ledgers)
    first.close()
    await undo(devnet, payment.transaction)
    expect(await statusOf(refund.transaction)).toBe(undefined)
    // Two processes of one shop.
    const all = [open(ledgers()), open(ledgers())]
    await until(async () => (await statusOf(refund.transaction)) === '0x1')
    expect(await statusOf(payment.transaction)).toBe('0x1')
    expect(await balanceOf(devnet, buyer.address)).toBe(HAS)
    expect(await balanceOf(devnet, merchant.address)).toBe(HAS)
    await sell(all[0]!, merchant, buyer)
    expect(await balanceOf(devnet, merchant.address)).toBe(HAS + PRICE)
    for (const { payload } of [payment, refund])
      expect(await all[1]!.ledger.payments.find(keyOf(payload))).toMatchObject({ state: 'settled' })
  })

  it.each(takesBack)(
    'fails and is not sent again if its buyer %s meanwhile',
    async (_how, takeBack) => {
      const ledgers = await openLedgers(make)
      if (ledgers === undefined) return
      const { first, merchant, buyer, payment, refund } = await sellAndPayBack(ledgers)
      first.close()
      await undo(devnet, payment.transaction)
      await takeBack(buyer, payment.payload)
      const next = open(ledgers())
      await until(async () => {
        const record = await next.ledger.payments.find(keyOf(refund.payload))
        return record?.state === 'failed'
      })
      // The relayer goes on.
      await sell(next, merchant, await newPayer(devnet))
      expect(await statusOf(refund.transaction)).toBe(undefined)
      expect(await balanceOf(devnet, merchant.address)).toBe(HAS + PRICE)
      expect(await next.ledger.refunds.refundsOf([recordId(keyOf(payment.payload))])).toMatchObject(
        [{ state: 'failed' }],
      )
    },
  )
})

describe('a refund', () => {
  it('delays other payments only briefly if it is not sent again and its payment stays open', async () => {
    const ledger = createMemoryLedger()
    const [merchant, buyer] = [await newPayer(devnet), await newPayer(devnet)]
    const [sellerKey, refunderKey] = devnet.relayerKeys as [Hex, Hex]
    const seller = open(ledger, 60_000, { relayerKey: sellerKey })
    const payment = await sell(seller, merchant, buyer)
    seller.close()
    const refunder = open(ledger, 60_000, { relayerKey: refunderKey })
    const refund = await payBack(refunder, merchant, payment.payload)
    refunder.close()
    const raw = (await ledger.payments.find(keyOf(payment.payload)))!
    await undo(devnet, payment.transaction)
    const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
    const bytes = raw.state === 'settled' ? raw.submission!.raw : undefined
    proxy.fault = (method, [sent]) =>
      method.startsWith('eth_sendRawTransaction') && sent === bytes
        ? { kind: 'http', status: 503 }
        : undefined
    const next = open(ledger, 100, { relayerKey: refunderKey, rpcUrl: proxy.url })
    await sell(next, merchant, await newPayer(devnet))
    expect(await ledger.payments.find(keyOf(refund.payload))).toMatchObject({ state: 'failed' })
    expect(await balanceOf(devnet, merchant.address)).toBe(HAS + PRICE)
  })

  it('is made whatever gas strangers have lost us', async () => {
    const ledger = createMemoryLedger()
    const [merchant, buyer] = [await newPayer(devnet), await newPayer(devnet)]
    const first = open(ledger)
    const payment = await sell(first, merchant, buyer)
    first.close()
    const counters = closedBy(toEnd, new Counters({ store: ledger.counts, logger, now: Date.now }))
    const ofAll = { chainId: 84532, counters, store: ledger.counts, now: Date.now }
    new CodeGas(ofAll).add(padHex('0x'), 'lost', 9_000_000n)
    await counters.flush()
    const next = open(ledger)
    const offer = offerOf(devnet)
    const stranger = await signPayment(await newPayer(devnet), offer)
    const refused = { errorReason: 'payer_temporarily_refused' }
    expect(await next.facilitator.settle(stranger, offer, termsOf(devnet))).toMatchObject(refused)
    await payBack(next, merchant, payment.payload)
    expect(await balanceOf(devnet, buyer.address)).toBe(HAS)
  })

  it('never shares its transaction with a payment', async () => {
    const core = open(createMemoryLedger())
    const [merchant, buyer] = [await newPayer(devnet), await newPayer(devnet)]
    const others = [await newPayer(devnet), await newPayer(devnet)]
    const payment = await sell(core, merchant, buyer)
    await stopMining(devnet)
    let waiting = 0
    let start: () => void = () => undefined
    const areAllHere = new Promise<void>((resolve) => (start = resolve))
    const send = core.relayers.send.bind(core.relayers)
    core.relayers.send = async (member) => {
      if (++waiting === 3) start()
      await areAllHere
      return send(member)
    }
    const sending = Promise.all([
      payBack(core, merchant, payment.payload),
      ...others.map((other) => sell(core, merchant, other)),
    ])
    await until(() => core.happened().filter((event) => event === 'submitted').length === 3)
    const mining = setInterval(() => void devnet.mine().catch(() => undefined), 100)
    toEnd.push(() => clearInterval(mining))
    const [refund, one, other] = (await sending).map(({ transaction }) => transaction)
    expect(one).toBe(other)
    expect(refund).not.toBe(one)
  })
})
