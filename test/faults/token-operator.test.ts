import { afterEach, describe, expect, it } from '@jest/globals'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { useDevnet } from '../support/devnet.js'
import { newPayer, operate } from '../support/on-chain.js'
import { until } from '../support/until.js'
import type { GatewayProcess } from './gateway-process.js'
import type { Answer } from './oracle.js'
import { useWorlds } from './use-worlds.js'
import type { World } from './world.js'

const devnet = useDevnet()
const open = useWorlds(devnet)
afterEach(() => operate(devnet, 'unpause'))

const BLACKLISTED = 'payer_blacklisted'
const PAUSED = 'token_paused'
const FAILED = 'invalid_transaction_state'

/** Milliseconds after which what was reserved has come to where it waits to be sent. */
const GATHERING_MS = 3000

const sendsOf = ({ proxy }: World): number =>
  proxy.methods.filter((method) => method.startsWith('eth_sendRawTransaction')).length

const signMany = (world: World, count: number): Promise<PaymentPayload[]> =>
  Promise.all(Array.from({ length: count }, () => world.sign()))

/** What every one of so many answers is like. */
const times = (count: number, like: Partial<Answer>): Partial<Answer>[] =>
  Array.from({ length: count }, () => like)

/**
 * Presents payments while the transaction of another is on its way to the node, so that they share the
 * next one; does something when that is out and waits to be mined.
 */
async function presentTogether(
  world: World,
  gateway: GatewayProcess,
  { payments, meanwhile }: { payments: readonly PaymentPayload[]; meanwhile(): Promise<unknown> },
): Promise<Answer[]> {
  expect(await world.present(gateway, await world.sign())).toMatchObject({ delivered: true })
  const before = sendsOf(world)
  const known = (await world.records()).length
  let letThrough: (() => void) | undefined
  const gathered = new Promise<undefined>((resolve) => {
    letThrough = () => resolve(undefined)
  })
  world.proxy.fault = (method) =>
    method.startsWith('eth_sendRawTransaction') ? gathered : undefined
  await world.node('evm_setAutomine', false)
  try {
    const first = world.present(gateway, await world.sign())
    await until(() => sendsOf(world) === before + 1)
    const answering = Promise.all(payments.map((payment) => world.present(gateway, payment)))
    await until(async () => (await world.records()).length === known + 1 + payments.length)
    await sleep(GATHERING_MS)
    letThrough?.()
    // Both are with the node, and the next block has them. The first may have been sent twice.
    await until(async () => {
      const { pending } = await world.node<{ pending: string }>('txpool_status')
      return Number(pending) === 2
    })
    await meanwhile()
    await first
    return await answering
  } finally {
    await world.node('evm_setAutomine', true)
  }
}

describe('a payer who is blacklisted', () => {
  it.each(['/report', '/stream', 'settle'])(
    'is refused by %s with nothing sent, and is served once he is taken off the list',
    async (path) => {
      const world = await open()
      const gateway = await world.start()
      const payer = await newPayer(devnet)
      await operate(devnet, 'blacklist', payer.address)
      const payment = await world.sign({}, payer)
      const answer = await world.present(gateway, payment, path)
      expect(answer).toMatchObject({ delivered: false, reason: BLACKLISTED })
      expect(sendsOf(world)).toBe(0)
      expect(await world.records()).toEqual([])
      await operate(devnet, 'unBlacklist', payer.address)
      expect(await world.present(gateway, payment, path)).toMatchObject({ delivered: true })
    },
  )

  it('between verify and settlement is refused, and the others are served', async () => {
    const world = await open()
    const gateway = await world.start()
    const payer = await newPayer(devnet)
    const his = await world.sign({}, payer)
    const payments = [...(await signMany(world, 4)), his]
    const answering = payments.map((payment) => world.present(gateway, payment, '/held'))
    await until(async () => (await world.records()).length === payments.length)
    await operate(devnet, 'blacklist', payer.address)
    await gateway.release()
    const answers = await Promise.all(answering)
    expect(answers.pop()).toMatchObject({ status: 402, delivered: false, reason: BLACKLISTED })
    expect(answers).toMatchObject(times(4, { delivered: true }))
    expect((await world.evidence()).transfers).toHaveLength(4)
    await operate(devnet, 'unBlacklist', payer.address)
    expect(await world.present(gateway, his)).toMatchObject({ delivered: true })
  })

  it('when his transfer is out, with others in its transaction, fails alone', async () => {
    const world = await open({ options: { settleTimeoutMs: 20_000 } })
    const gateway = await world.start()
    const payer = await newPayer(devnet)
    const others = await signMany(world, 4)
    const his = await world.sign({}, payer)
    const answers = await presentTogether(world, gateway, {
      payments: [...others.slice(0, 2), his, ...others.slice(2)],
      meanwhile: () => operate(devnet, 'blacklist', payer.address),
    })
    const [failed] = answers.splice(2, 1)
    expect(failed).toMatchObject({ status: 402, delivered: false, reason: FAILED })
    expect(answers).toMatchObject(times(4, { delivered: true }))
    const shared = answers.map(({ transaction }) => transaction)
    expect(new Set([...shared, failed!.transaction]).size).toBe(1)
    expect((await world.evidence()).transfers).toHaveLength(6)
    // His authorization is unused: once he is off the blacklist, it is good again.
    await operate(devnet, 'unBlacklist', payer.address)
    expect(await world.present(gateway, his)).toMatchObject({ delivered: true })
  })
})

describe('a token that is paused', () => {
  it.each(['/report', '/stream', 'settle'])(
    'has all payments refused by %s with nothing sent, and the same ones pay afterwards',
    async (path) => {
      const world = await open()
      const gateway = await world.start()
      const payments = await signMany(world, 6)
      const presentAll = () =>
        Promise.all(payments.map((payment) => world.present(gateway, payment, path)))
      await operate(devnet, 'pause')
      expect(await presentAll()).toMatchObject(times(6, { delivered: false, reason: PAUSED }))
      expect(sendsOf(world)).toBe(0)
      expect(await world.records()).toEqual([])
      await operate(devnet, 'unpause')
      expect(await presentAll()).toMatchObject(times(6, { delivered: true }))
      expect((await world.evidence()).transfers).toHaveLength(6)
    },
  )

  it('between verify and settlement has payments refused, and the same ones pay afterwards', async () => {
    const world = await open()
    const gateway = await world.start()
    const payments = await signMany(world, 4)
    const answering = payments.map((payment) => world.present(gateway, payment, '/held'))
    await until(async () => (await world.records()).length === 4)
    await operate(devnet, 'pause')
    await gateway.release()
    const refused = { status: 402, delivered: false, reason: PAUSED }
    expect(await Promise.all(answering)).toMatchObject(times(4, refused))
    expect(sendsOf(world)).toBe(0)
    await operate(devnet, 'unpause')
    const answers = await Promise.all(payments.map((payment) => world.present(gateway, payment)))
    expect(answers).toMatchObject(times(4, { delivered: true }))
  })

  it('after transfers were sent has them fail, and nothing is delivered', async () => {
    const world = await open({ options: { settleTimeoutMs: 20_000 } })
    const gateway = await world.start()
    const payments = await signMany(world, 4)
    const answers = await presentTogether(world, gateway, {
      payments,
      meanwhile: () => operate(devnet, 'pause'),
    })
    const failed = { status: 402, delivered: false, reason: FAILED }
    expect(answers).toMatchObject(times(4, failed))
    // Only the one before the pause.
    expect((await world.evidence()).transfers).toHaveLength(1)
    await operate(devnet, 'unpause')
    expect(await world.present(gateway, await world.sign())).toMatchObject({ delivered: true })
  })
})
