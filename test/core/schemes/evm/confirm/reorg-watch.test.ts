import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { serializeTransaction } from 'viem'
import { recordId, type LedgerStore } from '../../../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../../../src/ledger/memory-ledger.js'
import { openSqliteLedger } from '../../../../../src/ledger/sqlite-ledger.js'
import type { Hex, PaymentPayload } from '../../../../../src/shared/protocol/payment.js'
import {
  askNode,
  type Core,
  type CoreOptions,
  offerOf,
  openCore,
  payingOn,
} from '../../../../support/core.js'
import { useDevnet } from '../../../../support/devnet.js'
import {
  cancel,
  emptyAccount,
  frontRun,
  newPayer,
  sendAs,
  signedAuthorization,
  undo,
  untilMined,
} from '../../../../support/on-chain.js'
import { patchedLedger } from '../../../../support/patched-ledger.js'
import { isSend, startRpcProxy, type RpcProxy } from '../../../../support/rpc-proxy.js'
import { signPayment, type TestPayer } from '../../../../support/sign-payment.js'
import { until } from '../../../../support/until.js'
import { temporaryFolder, useCleanup, closedBy } from '../../../../support/cleanup.js'
import { stopMining, resumeMining } from '../../../../support/mining.js'

const PRICE = 10_000n
const devnet = useDevnet()
const toEnd = useCleanup()

function open(options: CoreOptions = {}): Core {
  return closedBy(toEnd, openCore(devnet, { reconcileIntervalMs: 100, ...options }))
}

async function openProxied(options: CoreOptions) {
  const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
  return { proxy, core: open({ ...options, rpcUrl: proxy.url }) }
}

/** One that is gone before it looks whether what it has settled stays so. */
const openInattentive = (ledger: LedgerStore): Core => open({ ledger, reconcileIntervalMs: 60_000 })

const stores: [string, () => () => LedgerStore][] = [
  [
    'memory',
    () => {
      const ledger = createMemoryLedger()
      return () => ledger
    },
  ],
  [
    'SQLite',
    () => {
      const folder = temporaryFolder(toEnd)
      return () => {
        return closedBy(toEnd, openSqliteLedger(join(folder, 'ledger.db')))
      }
    },
  ],
]

const { sign, settle, merchantBalance } = payingOn(devnet)
const USED = { success: false, errorReason: 'invalid_exact_evm_nonce_already_used' }

const keyOf = (payment: PaymentPayload) => {
  const { from, nonce } = signedAuthorization(payment)
  return { chainId: 84532, contract: devnet.asset, from, nonce }
}

describe.each(stores)(
  'a settled payment that a reorganisation undoes, kept in %s',
  (_name, make) => {
    it('is sent again by a process that did not see it settled', async () => {
      const openLedger = make()
      const first = openInattentive(openLedger())
      const [before, payment] = [await merchantBalance(), await sign()]
      const answer = await settle(first, payment)
      expect(answer).toMatchObject({ success: true })
      first.close()
      await undo(devnet, answer.transaction as Hex)
      expect(await merchantBalance()).toBe(before)
      const next = open({ ledger: openLedger() })
      await until(async () => (await merchantBalance()) === before + PRICE)
      expect(await settle(next, payment)).toMatchObject(USED)
      expect(next.happened()).not.toContain('settled')
    })

    it('is sent with another account nonce if its own was used meanwhile, and that is logged', async () => {
      const openLedger = make()
      const first = openInattentive(openLedger())
      const [before, payment] = [await merchantBalance(), await sign()]
      const answer = await settle(first, payment)
      first.close()
      await undo(devnet, answer.transaction as Hex)
      await sendAs(devnet, first.relayer.address, '0x')
      expect(await merchantBalance()).toBe(before)
      const next = open({ ledger: openLedger() })
      await until(async () => (await merchantBalance()) === before + PRICE)
      await until(
        async () => (await next.ledger.payments.find(keyOf(payment)))!.state === 'settled',
      )
      const record = await next.ledger.payments.find(keyOf(payment))
      expect(record).toMatchObject({ state: 'settled', delivered: true })
      const { transaction } = record as { transaction: Hex }
      expect(transaction).not.toBe(answer.transaction)
      const receipt = await askNode(devnet, 'eth_getTransactionReceipt', transaction)
      expect(receipt).toMatchObject({ status: '0x1' })
      // It is not sent more often than that.
      await new Promise((resolve) => setTimeout(resolve, 500))
      expect(await merchantBalance()).toBe(before + PRICE)
      expect(await settle(next, await sign())).toMatchObject({ success: true })
    })
  },
)

/** Undoes transactions of a relayer's, of which the first is told, and has others take their counts. */
async function undoAndBar({ relayer }: Core, first: string, transactions = 1): Promise<void> {
  await undo(devnet, first as Hex)
  for (let n = 0; n < transactions; n++) await sendAs(devnet, relayer.address, '0x')
}

/** The transaction by which a record says that it was paid, as far as that is true. */
async function paidBy(core: Core, payment: PaymentPayload): Promise<Hex | undefined> {
  const record = await core.ledger.payments.find(keyOf(payment))
  if (record?.state !== 'settled') return undefined
  const { transaction } = record
  const receipt = await askNode<{ logs: { topics: Hex[] }[] } | null>(
    devnet,
    'eth_getTransactionReceipt',
    transaction,
  )
  const { nonce } = signedAuthorization(payment)
  return receipt?.logs.some(({ topics }) => topics.includes(nonce)) ? transaction : undefined
}

describe('settled payments that a reorganisation undoes', () => {
  it('are each sent again in a transaction of their own if they had shared one', async () => {
    const ledger = createMemoryLedger()
    const first = openInattentive(
      patchedLedger(ledger, {
        // The first is written down once the others wait for it: they share a transaction.
        submitNext: async (...submission) => {
          await until(() => waiting === 3)
          return ledger.relayers.submitNext(...submission)
        },
      }),
    )
    let waiting = 0
    const send = first.relayers.send.bind(first.relayers)
    first.relayers.send = (member) => {
      waiting += 1
      return send(member)
    }
    const before = await merchantBalance()
    const payments = await Promise.all([0, 1, 2].map((payer) => sign(payer)))
    await stopMining(devnet)
    const settling = Promise.all(payments.map((payment) => settle(first, payment)))
    await until(() => first.happened().filter((event) => event === 'submitted').length === 3)
    await resumeMining(devnet)
    const sent = new Set((await settling).map(({ transaction }) => transaction))
    expect(sent.size).toBeLessThan(3)
    first.close()
    // One block has all of them.
    await undoAndBar(first, [...sent][0]!, sent.size)
    expect(await merchantBalance()).toBe(before)
    const next = open({ ledger })
    await until(async () => (await merchantBalance()) === before + 3n * PRICE)
    for (const payment of payments) {
      await until(async () => (await paidBy(next, payment)) !== undefined)
      expect(await settle(next, payment)).toMatchObject(USED)
    }
    // Whoever was paid by another’s transaction would look like one whose money has gone elsewhere.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(next.errors).toEqual([])
    expect(next.happened()).not.toContain('failed')
    expect(await merchantBalance()).toBe(before + 3n * PRICE)
  })

  it('are sent again beside one whose check fails because of a bug', async () => {
    const ledger = createMemoryLedger()
    const first = openInattentive(ledger)
    const before = await merchantBalance()
    const [broken, payment] = [await sign(), await sign()]
    const { transaction } = await settle(first, broken)
    await settle(first, payment)
    first.close()
    await undoAndBar(first, transaction, 2)
    const id = recordId(keyOf(broken))
    const next = open({
      ledger: patchedLedger(ledger, {
        find: async (key) => {
          if (recordId(key) === id) throw new TypeError('A bug.')
          return ledger.payments.find(key)
        },
      }),
    })
    await until(async () => (await paidBy(next, payment)) !== undefined)
    expect(await merchantBalance()).toBe(before + PRICE)
    expect(next.errors).toContainEqual(
      expect.objectContaining({ message: 'A payment could not be looked after.' }),
    )
  })

  it('are sent again soon, however long the interval of rounds is', async () => {
    const ledger = createMemoryLedger()
    const first = openInattentive(ledger)
    const [before, payment] = [await merchantBalance(), await sign()]
    const { transaction } = await settle(first, payment)
    first.close()
    await undoAndBar(first, transaction)
    const next = openInattentive(ledger)
    await until(async () => (await paidBy(next, payment)) !== undefined)
    expect(await merchantBalance()).toBe(before + PRICE)
  })

  it('are sent again even if they were undone long before the gateway started', async () => {
    let elapsedMs = 0
    const ledger = createMemoryLedger({ now: () => Date.now() + elapsedMs })
    const first = openInattentive(ledger)
    const [before, payment] = [await merchantBalance(), await sign()]
    const { transaction } = await settle(first, payment)
    first.close()
    await undoAndBar(first, transaction)
    elapsedMs = 50 * 60_000
    const next = open({ ledger })
    await until(async () => (await paidBy(next, payment)) !== undefined)
    expect(await merchantBalance()).toBe(before + PRICE)
  })

  it('are reported once they have lapsed if an empty transaction has taken the place of theirs', async () => {
    let elapsedMs = 0
    const ledger = createMemoryLedger({ now: () => Date.now() + elapsedMs })
    const first = openInattentive(ledger)
    const payment = await sign()
    const { transaction } = await settle(first, payment)
    first.close()
    await undoAndBar(first, transaction)
    elapsedMs = 50 * 60_000
    const raw = serializeTransaction({ type: 'eip1559', chainId: 84532, to: first.relayer.address })
    let looks = 0
    let aheadMs = 0
    const { proxy, core } = await openProxied({
      now: () => Date.now() + aheadMs,
      ledger: patchedLedger(ledger, {
        find: async (key) => {
          const record = await ledger.payments.find(key)
          looks += 1
          return record?.state === 'settled' && record.submission
            ? { ...record, submission: { ...record.submission, raw } }
            : record
        },
      }),
    })
    await until(() => looks >= 2)
    aheadMs = 3_600_000
    await until(() => core.errors.some(({ message }) => message.includes('has lapsed')))
    expect(proxy.methods.filter(isSend)).toEqual([])
  })
})

/** Undoes a transaction; returns when it waits to be mined again. */
async function undoUntilSentAgain(proxy: RpcProxy, transaction: string): Promise<void> {
  await stopMining(devnet)
  proxy.fault = (method) =>
    method === 'eth_sendRawTransaction' ? { kind: 'http', status: 503 } : undefined
  await undo(devnet, transaction as Hex)
  await devnet.mine()
  proxy.fault = undefined
  const waiting = () => askNode<Hex>(devnet, 'eth_getBlockTransactionCountByNumber', 'pending')
  await until(async () => (await waiting()) !== '0x0')
}

describe('a settled payment that a reorganisation undoes', () => {
  it('is sent with another account nonce if the one before its own is missing', async () => {
    const ledger = createMemoryLedger()
    const first = openInattentive(ledger)
    const earlier = await sendAs(devnet, first.relayer.address, '0x')
    await untilMined(devnet, earlier)
    const [before, payment] = [await merchantBalance(), await sign()]
    await settle(first, payment)
    first.close()
    await undo(devnet, earlier)
    expect(await merchantBalance()).toBe(before)
    const next = open({ ledger })
    await until(async () => (await merchantBalance()) === before + PRICE)
    expect(await settle(next, await sign())).toMatchObject({ success: true })
    expect(await merchantBalance()).toBe(before + 2n * PRICE)
  })

  it('stays settled if a stranger sends it then, and names his transaction', async () => {
    const { proxy, core } = await openProxied({ reconcileIntervalMs: 300 })
    const [before, payment] = [await merchantBalance(), await sign()]
    const { transaction } = await settle(core, payment)
    await undoUntilSentAgain(proxy, transaction)
    const others = await frontRun(devnet, payment)
    await devnet.mine()
    expect(await merchantBalance()).toBe(before + PRICE)
    expect(others).not.toBe(transaction)
    await until(async () => {
      const record = await core.ledger.payments.find(keyOf(payment))
      return record?.state === 'settled' && record.transaction === others
    })
    expect(await settle(core, payment)).toMatchObject(USED)
  })

  it('is reported if its payer has cancelled it', async () => {
    const { proxy, core } = await openProxied({ reconcileIntervalMs: 300 })
    const payer = await newPayer(devnet)
    const payment = await sign(payer)
    const { transaction } = await settle(core, payment)
    await undoUntilSentAgain(proxy, transaction)
    await cancel(devnet, payer, payment)
    await devnet.mine()
    await until(() => core.errors.some(({ message }) => message.includes('used up')))
    expect(await core.ledger.payments.find(keyOf(payment))).toMatchObject({ state: 'settled' })
  })
})

/** What a route offers: with an id that the buyer echoes, and that is never on chain. */
const provenOffer = () =>
  offerOf(devnet, { extra: { name: 'USDC', version: '2', offerId: 'of-the-buyer-alone' } })

/** A payment whose transaction is mined, and fails: its payer had no money at that moment. */
async function failPayment(
  core: Core,
  offer = provenOffer(),
): Promise<{ payer: TestPayer; payment: PaymentPayload }> {
  const payer = await newPayer(devnet)
  const payment = await signPayment(payer, offer)
  await stopMining(devnet)
  const settling = settle(core, payment)
  await core.until('submitted')
  await emptyAccount(devnet, payer)
  await devnet.mine()
  expect(await settling).toMatchObject({ errorReason: 'invalid_transaction_state' })
  await resumeMining(devnet)
  return { payer, payment }
}

describe.each([
  ['on its rounds', 100],
  ['when it is presented', 1_000_000],
])('a payment that failed, looked at %s,', (_how, reconcileIntervalMs) => {
  it('is settled after all once a stranger has sent it, and redeemed once by its proven buyer', async () => {
    const core = open({ reconcileIntervalMs })
    const { payer, payment } = await failPayment(core)
    expect(await settle(core, payment)).toMatchObject({ errorReason: 'invalid_transaction_state' })
    const before = await merchantBalance()
    await devnet.mint(payer.address, PRICE)
    const transaction = await frontRun(devnet, payment)
    await until(async () => (await merchantBalance()) === before + PRICE)
    if (reconcileIntervalMs < 1000) await core.until('settled')
    const { accepted, ...onChain } = payment
    const bare = { ...onChain, accepted: { ...accepted, extra: { name: 'USDC', version: '2' } } }
    expect(await settle(core, bare)).toMatchObject({ ...USED, transaction: '' })
    const answers = await Promise.all(Array.from({ length: 5 }, () => settle(core, payment)))
    expect(answers.filter(({ success }) => success)).toMatchObject([{ transaction }])
    expect(await settle(core, payment)).toMatchObject({ ...USED, settledBy: transaction })
    expect(await core.ledger.payments.find(keyOf(payment))).toMatchObject({
      state: 'settled',
      transaction,
    })
    expect(core.happened().filter((name) => name === 'settled')).toHaveLength(1)
    expect(core.events.find(({ name }) => name === 'settled')?.event).toMatchObject({
      transaction,
      amount: String(PRICE),
      project: 'shop',
    })
  })

  it('is redeemed by nobody if no buyer was bound to it', async () => {
    const core = open({ reconcileIntervalMs })
    const { payer, payment } = await failPayment(core, offerOf(devnet))
    const before = await merchantBalance()
    await devnet.mint(payer.address, PRICE)
    await frontRun(devnet, payment)
    await until(async () => (await merchantBalance()) === before + PRICE)
    if (reconcileIntervalMs < 1000) await core.until('settled')
    expect(await settle(core, payment)).toMatchObject({ ...USED, transaction: '' })
    expect(await core.ledger.payments.find(keyOf(payment))).toMatchObject({
      state: 'settled',
      locked: false,
    })
  })

  it('stays failed while its payer has no money, and once its payer has cancelled it', async () => {
    const core = open({ reconcileIntervalMs })
    const { payer, payment } = await failPayment(core)
    for (let tries = 0; tries < 3; tries++)
      expect(await settle(core, payment)).toMatchObject({
        errorReason: 'invalid_transaction_state',
      })
    await cancel(devnet, payer, payment)
    await devnet.mint(payer.address, PRICE)
    for (let tries = 0; tries < 3; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 150))
      expect(await settle(core, payment)).toMatchObject({
        errorReason: 'invalid_transaction_state',
      })
    }
    expect(core.happened()).not.toContain('settled')
    expect((await core.ledger.payments.find(keyOf(payment)))?.id).toBe(recordId(keyOf(payment)))
  })
})

describe('a payment that failed and was paid after all', () => {
  it('is not answered as failed if another request settles it during its verification', async () => {
    const ledger = createMemoryLedger()
    const reconcileIntervalMs = 1_000_000
    const other = open({ ledger, reconcileIntervalMs })
    let redeemed: Promise<unknown> | undefined
    const core = open({
      reconcileIntervalMs,
      ledger: patchedLedger(ledger, {
        async find(key) {
          const record = await ledger.payments.find(key)
          if (record?.state === 'failed') await (redeemed ??= settle(other, payment))
          return record
        },
      }),
    })
    const { payer, payment } = await failPayment(other)
    const before = await merchantBalance()
    await devnet.mint(payer.address, PRICE)
    const transaction = await frontRun(devnet, payment)
    await until(async () => (await merchantBalance()) === before + PRICE)
    expect(await settle(core, payment)).toMatchObject({ ...USED, settledBy: transaction })
    expect(await redeemed).toMatchObject({ success: true, transaction })
  })
})
