import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import type { GatewayProcess } from '../faults/gateway-process.js'
import { useWorlds } from '../faults/use-worlds.js'
import type { World, WorldOptions } from '../faults/world.js'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { limitPending, minedOf, refuseReads, refuseSends } from '../support/busy-node.js'
import { deploy, twoFacedWalletCode } from '../support/contracts.js'
import { delegate } from '../support/delegation.js'
import { useDevnet } from '../support/devnet.js'
import { paymentHeader } from '../support/http.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { type Fault, isSend } from '../support/rpc-proxy.js'
import { until } from '../support/until.js'
import { useCleanup } from '../support/cleanup.js'

const devnet = useDevnet({ blockTime: 1 })
const open = useWorlds(devnet)
const postgres = await findPostgres()
const toEnd = useCleanup(afterAll)

/** Longer than a refusal had to last for a nonce to be given up. */
const REFUSED_MS = 7000

/** More time than any refusal here takes. */
const PATIENT = { settleTimeoutMs: 50_000 }

const refusal = (message: string, code = -32000): Fault => ({ kind: 'refuse', code, message })
const signMany = (world: World, count: number): Promise<PaymentPayload[]> =>
  Promise.all(Array.from({ length: count }, () => world.sign()))

/** Presents payments one after the other, without waiting for answers. */
async function presentAll(
  world: World,
  gateway: GatewayProcess,
  payments: readonly PaymentPayload[],
) {
  const answers = []
  for (const payment of payments) {
    answers.push(world.present(gateway, payment))
    await sleep(60)
  }
  return Promise.all(answers)
}

const warningsOf = (gateway: GatewayProcess): readonly { readonly node?: string }[] =>
  gateway
    .log()
    .split('\n')
    .filter((line) => line.includes('does not take a transaction'))
    .map((line) => JSON.parse(line) as { node?: string })

/** Waits until so many payments are on the chain. */
async function untilPaid(world: World, count: number): Promise<void> {
  while ((await paidIn(world)) < count) await sleep(200)
}

const paidIn = async (world: World): Promise<number> => (await world.evidence()).transfers.length

describe('a gateway whose node says "not now" (rule 13)', () => {
  it.each<[string, Fault, RegExp]>([
    ['-32005', refusal('rate limit exceeded', -32005), /rate limit exceeded \(-32005\)/],
    ['a full pool', refusal('txpool is full'), /txpool is full/],
    ['HTTP 429', { kind: 'http', status: 429 }, /HTTP 429/],
    ['no healthy backend', refusal('no backend is currently healthy', -32011), /healthy/],
  ])(
    'sells to ten buyers while the node refuses transactions by %s for seconds, and burns no nonce',
    async (_name, fault, words) => {
      const world = await open({ options: PATIENT })
      const gateway = await world.start()
      const payments = await signMany(world, 10)
      refuseSends(world.proxy, fault)
      const presenting = presentAll(world, gateway, payments)
      await until(() => world.proxy.methods.some(isSend))
      await sleep(REFUSED_MS)
      expect(await paidIn(world)).toBe(0)
      world.proxy.fault = undefined
      const answers = await presenting
      expect(answers.map(({ status }) => status)).toEqual(payments.map(() => 200))
      expect(await paidIn(world)).toBe(10)
      expect(await minedOf(devnet, world.relayers[0]!.address)).toMatchObject({ empty: 0 })
      // Once a minute, in the node's words.
      const warnings = warningsOf(gateway)
      expect(warnings).toHaveLength(1)
      expect(warnings[0]!.node).toMatch(words)
      expect(gateway.log()).not.toContain('secret-provider-key')
    },
  )

  it('loses no buyer while the node closes the connection of every transaction for seconds', async () => {
    const world = await open({ options: PATIENT })
    const gateway = await world.start()
    const payments = await signMany(world, 10)
    refuseSends(world.proxy, { kind: 'drop_request' })
    const presenting = presentAll(world, gateway, payments)
    await until(() => world.proxy.methods.some(isSend))
    await sleep(REFUSED_MS)
    world.proxy.fault = undefined
    const answers = await presenting
    for (const { status } of answers) expect([200, 503]).toContain(status)
    const again = await world.presentAll(gateway, payments)
    // What was delivered already is refused then.
    for (const [index, { delivered }] of answers.entries())
      expect(delivered || again[index]!.delivered).toBe(true)
    expect(await paidIn(world)).toBe(10)
    expect(await minedOf(devnet, world.relayers[0]!.address)).toMatchObject({ empty: 0 })
  })

  it.each([1, 4])(
    'sells to twenty buyers if the node accepts %s pending transactions of the relayer',
    async (limit) => {
      const world = await open({ options: PATIENT })
      const gateway = await world.start()
      const payments = await signMany(world, 20)
      limitPending(world.proxy, devnet, limit)
      const answers = await presentAll(world, gateway, payments)
      expect(answers.map(({ status }) => status)).toEqual(payments.map(() => 200))
      expect(await paidIn(world)).toBe(20)
      const mined = await minedOf(devnet, world.relayers[0]!.address)
      expect(mined.empty).toBe(0)
      // What waits for a block shares a transaction.
      expect(mined.all).toBeLessThan(12)
    },
  )

  it('sells to twenty buyers while every third read is refused', async () => {
    const world = await open({ options: PATIENT })
    const gateway = await world.start()
    const payments = await signMany(world, 20)
    refuseReads(world.proxy, 3, [
      refusal('rate limit exceeded', -32005),
      { kind: 'http', status: 429 },
      refusal('over rate limit', -32016),
      refusal('request limit reached', -32011),
      refusal('header not found'),
    ])
    const answers = await presentAll(world, gateway, payments)
    expect(answers.map(({ status }) => status)).toEqual(payments.map(() => 200))
    expect(await paidIn(world)).toBe(20)
  })

  it('answers that a payment was accepted, not that it was sent, and sends it by itself', async () => {
    const world = await open({ options: { settleTimeoutMs: 12_000 } })
    const gateway = await world.start()
    refuseSends(world.proxy, refusal('txpool is full'))
    const payments = await signMany(world, 4)
    const bodies = await Promise.all(
      payments.map(async (payment) => {
        const response = await fetch(`${gateway.url}/report`, { headers: paymentHeader(payment) })
        return { status: response.status, ...((await response.json()) as { detail: string }) }
      }),
    )
    for (const body of bodies) {
      expect(body).toMatchObject({ status: 503, code: 'settlement_pending' })
      expect(body.detail).toContain('accepted')
      expect(body.detail).not.toContain('was sent')
    }
    await sleep(REFUSED_MS)
    world.proxy.fault = undefined
    // Nobody presents anything.
    await untilPaid(world, 4)
    expect(await minedOf(devnet, world.relayers[0]!.address)).toMatchObject({ empty: 0 })
    for (const payment of payments)
      expect(await world.presentUntilDecided(gateway, payment)).toMatchObject({ delivered: true })
  })

  it('frees the nonce of a lapsed payment once if the node always refuses it', async () => {
    const world = await open({ options: { settleTimeoutMs: 2000 } })
    const gateway = await world.start()
    refuseSends(world.proxy, refusal('txpool is full'))
    const { timestamp } = await world.node<{ timestamp: string }>(
      'eth_getBlockByNumber',
      'latest',
      false,
    )
    const now = Math.max(Number(timestamp), Math.floor(Date.now() / 1000))
    const validBefore = String(now + 60)
    const payment = await world.sign({ validBefore })
    expect(await world.present(gateway, payment)).toMatchObject({ reason: 'settlement_pending' })
    await world.node('evm_increaseTime', 150)
    await until(async () => {
      await sleep(200)
      return (await world.records())[0]?.state === 'failed'
    })
    expect((await world.records())[0]).toMatchObject({
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    })
    world.proxy.fault = undefined
    expect(await world.presentUntilDecided(gateway, await world.sign())).toMatchObject({
      delivered: true,
    })
    expect(await minedOf(devnet, world.relayers[0]!.address)).toEqual({ all: 2, empty: 1 })
  })

  it('sends a payment again by itself whose nonce another program has used', async () => {
    const world = await open({ options: { settleTimeoutMs: 3000 } })
    const gateway = await world.start()
    refuseSends(world.proxy, refusal('txpool is full'))
    const payment = await world.sign()
    expect(await world.present(gateway, payment)).toMatchObject({ reason: 'settlement_pending' })
    const { address, key } = world.relayers[0]!
    const raw = await privateKeyToAccount(key).signTransaction({
      chainId: 84532,
      nonce: 0,
      to: address,
      gas: 21_000n,
      maxFeePerGas: 10n ** 11n,
      maxPriorityFeePerGas: 10n ** 9n,
    })
    await world.node('eth_sendRawTransaction', raw)
    await until(
      async () => Number(await world.node('eth_getTransactionCount', address, 'latest')) === 1,
    )
    world.proxy.fault = undefined
    await untilPaid(world, 1)
    expect(await world.presentUntilDecided(gateway, payment)).toMatchObject({ delivered: true })
  })

  it('names a relayer that delegates (EIP-7702) soon after the start', async () => {
    const world = await open()
    const contract = await deploy(devnet, twoFacedWalletCode)
    const { key: privateKey, address } = world.relayers[0]!
    await delegate(devnet, { address, privateKey }, contract)
    await until(async () => (await world.node('eth_getCode', address, 'latest')) !== '0x')
    const gateway = await world.start()
    await until(() => gateway.log().includes('(EIP-7702)'))
    expect(gateway.log().toLowerCase()).toContain(`delegates to ${contract.toLowerCase()}`)
    expect(gateway.log()).toContain('use a plain account')
  })
})

const ledgers: [string, () => Promise<Pick<WorldOptions, 'ledger'>>][] = [
  ['SQLite', async () => ({})],
]
if (postgres !== undefined)
  ledgers.push([
    'PostgreSQL',
    async () => {
      const schema = await createSchema(postgres)
      toEnd.push(() => schema.drop())
      return { ledger: schema.url }
    },
  ])

describe.each(ledgers)('two gateways of one %s (rule 13)', (_name, ledger) => {
  it('send a refused transaction of a gateway that is dead by now, with its own nonce', async () => {
    const world = await open({ ...(await ledger()), options: PATIENT })
    const [first, second] = await Promise.all([world.start(), world.start()])
    refuseSends(world.proxy, refusal('txpool is full'))
    const payments = await signMany(world, 6)
    const answering = payments.map((payment, index) =>
      world.present(index % 2 ? first : second, payment),
    )
    await until(async () => {
      const records = await world.records()
      return records.length === 6 && records.every(({ state }) => state === 'submitted')
    })
    await first.kill()
    await sleep(REFUSED_MS)
    world.proxy.fault = undefined
    await untilPaid(world, 6)
    expect(await minedOf(devnet, world.relayers[0]!.address)).toMatchObject({ empty: 0 })
    const answers = await Promise.all(answering)
    for (const [index, { delivered }] of answers.entries())
      if (!delivered)
        expect(await world.presentUntilDecided(second, payments[index]!)).toMatchObject({
          delivered: true,
        })
  })
})
