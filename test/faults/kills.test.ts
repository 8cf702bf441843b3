import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { useDevnet } from '../support/devnet.js'
import { undo } from '../support/on-chain.js'
import { permit2On } from '../support/permit2.js'
import { signPermit } from '../support/sign-permit.js'
import { until } from '../support/until.js'
import { isSend } from '../support/rpc-proxy.js'
import type { GatewayProcess } from './gateway-process.js'
import { useWorlds } from './use-worlds.js'
import type { World } from './world.js'

const devnet = useDevnet()
const open = useWorlds(devnet)

const isReceipt = (method: string): boolean => method === 'eth_getTransactionReceipt'

/** Kills a gateway, or pauses it, at the first request that is given to the proxy so. */
function killOnce(
  { proxy }: World,
  gateway: GatewayProcess,
  when: (method: string) => 'before' | 'after' | undefined,
  how: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL',
): void {
  let done = false
  proxy.fault = (method) => {
    const moment = done ? undefined : when(method)
    if (moment === undefined) return undefined
    if (moment === 'before') {
      done = true
      gateway.signal(how)
      return { kind: 'drop_request' }
    }
    return {
      kind: 'inspect',
      see(result) {
        // A receipt that is not there yet is no receipt.
        if (done || result === null || result === undefined) return 'pass'
        done = true
        gateway.signal(how)
        return 'drop'
      },
    }
  }
}

/** After a restart the same payment ends in one grant. */
async function redeem(world: World, payment: PaymentPayload, path?: string) {
  const next = await world.start()
  const answer = await world.presentUntilDecided(next, payment, path)
  expect(answer).toMatchObject({ delivered: true, reason: undefined })
  const { transfers, records } = await world.evidence()
  expect(transfers).toHaveLength(1)
  expect(records).toMatchObject([{ state: 'settled', transaction: transfers[0]!.transaction }])
  expect(await world.present(next, payment, path)).toMatchObject({ delivered: false })
}

type Moment = (method: string) => 'before' | 'after' | undefined
const before =
  (is: (method: string) => boolean): Moment =>
  (method) =>
    is(method) ? 'before' : undefined
const after =
  (is: (method: string) => boolean): Moment =>
  (method) =>
    is(method) ? 'after' : undefined

const paths = [['/report'], ['/stream'], ['settle']]

describe.each(paths)('a process that is killed while it serves %s', (path) => {
  it.each([
    ['after the write-ahead, before the send', before(isSend), false],
    ['after the write-ahead, before a send that answers with the receipt', before(isSend), true],
    ['after the send, before its answer', after(isSend), false],
    ['after the send, before its answer with the receipt', after(isSend), true],
    ['after the receipt, before its own answer', after(isReceipt), false],
  ] as const)('%s, has its payment redeemed once by the next', async (_moment, when, hasSync) => {
    const world = await open({ hasSync })
    const first = await world.start()
    killOnce(world, first, when)
    const payment = await world.sign()
    expect(await world.present(first, payment, path)).toMatchObject({ status: 0 })
    await first.kill()
    await redeem(world, payment, path)
  })
})

describe('a process that is killed while it settles a payment by Permit2', () => {
  it.each([
    ['after the write-ahead, before the send', before(isSend)],
    ['after the send, before its answer', after(isSend)],
    ['after the receipt, before its own answer', after(isReceipt)],
  ] as const)('%s, has its payment redeemed once by the next', async (_moment, when) => {
    const { approve, newPayer } = permit2On(devnet)
    const world = await open()
    const first = await world.start()
    const payer = await newPayer()
    await approve(payer.address)
    const extra = { ...world.offer.extra, assetTransferMethod: 'permit2' }
    const payment = await signPermit(payer, { ...world.offer, extra })
    killOnce(world, first, when)
    expect(await world.present(first, payment, 'settle')).toMatchObject({ status: 0 })
    await first.kill()
    await redeem(world, payment, 'settle')
  })
})

describe('a payment whose process was killed before the send', () => {
  it('is sent with another account nonce if the next process has used its own', async () => {
    const world = await open()
    const first = await world.start()
    killOnce(world, first, before(isSend))
    const payment = await world.sign()
    expect(await world.present(first, payment)).toMatchObject({ status: 0 })
    await first.kill()
    const next = await world.start()
    const other = await world.sign()
    expect(await world.presentUntilDecided(next, other)).toMatchObject({ delivered: true })
    expect(await world.presentUntilDecided(next, payment)).toMatchObject({ delivered: true })
    const { transfers, records } = await world.evidence()
    expect(transfers).toHaveLength(2)
    const recorded = records.map((record) => 'transaction' in record && record.transaction)
    expect(new Set(recorded)).toEqual(new Set(transfers.map(({ transaction }) => transaction)))
    expect(await world.present(next, payment)).toMatchObject({ delivered: false })
  })
})

describe('a payment whose process is paused after the send', () => {
  it.each(['/report', 'settle'])(
    'is answered by %s as pending until its lock has lapsed',
    async (path) => {
      const world = await open({ lockMs: 15_000 })
      const first = await world.start()
      killOnce(world, first, after(isSend), 'SIGSTOP')
      const payment = await world.sign()
      void world.present(first, payment, path)
      await until(async () => (await world.records())[0]?.state === 'submitted')
      const next = await world.start()
      const from = world.answers.length
      await world.presentUntilDecided(next, payment, path)
      const told = world.answers.slice(from)
      const { transfers } = await world.evidence()
      expect(transfers).toHaveLength(1)
      expect(told.pop()).toMatchObject({ delivered: true })
      expect(told.length).toBeGreaterThan(0)
      for (const answer of told)
        expect(answer).toMatchObject({
          status: path === 'settle' ? 200 : 503,
          reason: 'settlement_pending',
          transaction: transfers[0]!.transaction,
        })
    },
  )

  it('is pending for as long as its process lives, however slow its node is', async () => {
    const world = await open({
      relayers: 2,
      lockMs: 30_000,
      options: { settleTimeoutMs: 30_000 },
    })
    const [first, other] = await Promise.all([world.start(), world.start()])
    let isWithheld = true
    world.proxy.fault = (method) =>
      isWithheld && /Receipt/.test(method) ? { kind: 'answer', result: null } : undefined
    const payment = await world.sign()
    const answering = world.presentUntilDecided(first, payment)
    await until(async () => (await world.records())[0]?.state === 'submitted')
    // Nobody can tell yet whether it is dead; it is not, and longer than a dead one takes to be told.
    const refused = { status: 503, reason: 'settlement_pending' }
    for (let seconds = 0; seconds < 5; seconds++) {
      expect(await world.present(other, payment)).toMatchObject(refused)
      await sleep(1000)
    }
    isWithheld = false
    expect(await answering).toMatchObject({ delivered: true })
  })
})

describe('a reorganisation while nobody is alive', () => {
  it('is noticed by the next process, which sends settled and delivered payments again', async () => {
    const world = await open()
    const first = await world.start()
    const payments = await Promise.all(Array.from({ length: 3 }, () => world.sign()))
    for (const payment of payments)
      expect(await world.present(first, payment)).toMatchObject({ delivered: true })
    await first.kill()
    await undo(devnet, (await world.evidence()).transfers[0]!.transaction)
    expect((await world.evidence()).transfers).toEqual([])
    const next = await world.start()
    // What comes meanwhile must not take their place.
    expect(await world.presentUntilDecided(next, await world.sign())).toMatchObject({
      delivered: true,
    })
    await until(async () => (await world.evidence()).transfers.length === 4)
    for (const payment of payments)
      expect(await world.present(next, payment)).toMatchObject({ delivered: false })
  }, 1_200_000)
})

describe('a process that is killed', () => {
  it('before the write-ahead leaves a payment that the next process can take', async () => {
    const world = await open()
    const first = await world.start()
    killOnce(world, first, (method) => (method === 'eth_estimateGas' ? 'before' : undefined))
    const payment = await world.sign()
    expect(await world.present(first, payment)).toMatchObject({ status: 0 })
    await redeem(world, payment)
  })

  it('between settle and answer delivers at most once, at whichever moment it dies', async () => {
    const world = await open()
    const payments: PaymentPayload[] = []
    const delaysMs = [0, 2, 5, 10]
    for (const delayMs of delaysMs) {
      const gateway = await world.start()
      let done = false
      world.proxy.fault = (method) =>
        method === 'eth_getTransactionReceipt'
          ? {
              kind: 'inspect',
              see(result) {
                if (result !== null && !done) {
                  done = true
                  setTimeout(() => void gateway.kill(), delayMs)
                }
                return 'pass'
              },
            }
          : undefined
      const payment = await world.sign()
      payments.push(payment)
      // At first the relayer is still leased by the one that was killed.
      await until(async () => (await world.present(gateway, payment)).status !== 503)
      await gateway.kill()
    }
    world.proxy.fault = undefined
    const heir = await world.start()
    // Each was either let out, or is still to be had; the oracle knows the difference.
    await world.presentAll(heir, payments)
    const { transfers, records } = await world.evidence()
    expect(transfers).toHaveLength(delaysMs.length)
    expect(records).toHaveLength(delaysMs.length)
  })

  it('with many payments in progress loses none of them', async () => {
    const world = await open()
    const first = await world.start()
    const payments = await Promise.all(Array.from({ length: 20 }, () => world.sign()))
    let sends = 0
    world.proxy.fault = (method) => {
      if (isSend(method) && ++sends === 10) void first.kill()
      return undefined
    }
    await Promise.all(payments.map((payment) => world.present(first, payment)))
    world.proxy.fault = undefined
    const next = await world.start()
    const answers = await world.presentAll(next, payments)
    const seen = world.answers.filter(({ delivered }) => delivered)
    const { transfers } = await world.evidence()
    expect(transfers).toHaveLength(20)
    expect(new Set(seen.map(({ authorization }) => authorization)).size).toBe(seen.length)
    expect(answers).toHaveLength(20)
  })
})
