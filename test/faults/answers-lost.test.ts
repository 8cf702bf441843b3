import { describe, expect, it } from '@jest/globals'
import { useDevnet } from '../support/devnet.js'
import { type Fault, isSend } from '../support/rpc-proxy.js'
import { useWorlds } from './use-worlds.js'
import { until } from '../support/until.js'

const devnet = useDevnet()
const open = useWorlds(devnet)

/** Lets these faults happen to the first requests of a kind, one each. */
const firstOf = (matches: (method: string) => boolean, faults: readonly Fault[]) => {
  const left = [...faults]
  return (method: string): Fault | undefined => (matches(method) ? left.shift() : undefined)
}

describe('a broadcast', () => {
  const cases: [string, readonly Fault[]][] = [
    ['whose answer is dropped', [{ kind: 'drop_answer' }]],
    ['whose answers are dropped', [{ kind: 'drop_answer' }, { kind: 'drop_answer' }]],
    ['that never arrives', [{ kind: 'drop_request' }, { kind: 'drop_request' }]],
    ['whose answer is garbled', [{ kind: 'garble' }]],
    ['that arrives twice', [{ kind: 'duplicate' }]],
    ['that is delayed', [{ kind: 'delay', ms: 500 }]],
    ['that is too many', [{ kind: 'http', status: 429 }]],
    ['that times out behind the node', [{ kind: 'http', status: 504 }]],
    ['that breaks the node', [{ kind: 'refuse', code: -32603, message: 'internal error' }]],
  ]
  it.each(cases)('%s pays once and is delivered once', async (_name, faults) => {
    const world = await open()
    const gateway = await world.start({ options: { settleTimeoutMs: 45_000 } })
    world.proxy.fault = firstOf(isSend, faults)
    const payment = await world.sign()
    expect(await world.presentUntilDecided(gateway, payment)).toMatchObject({ delivered: true })
    expect((await world.evidence()).transfers).toHaveLength(1)
    // The relayer has not lost count.
    expect(await world.present(gateway, await world.sign())).toMatchObject({ delivered: true })
  })

  it('pays each payment once if every second answer is lost', async () => {
    const world = await open()
    const gateway = await world.start({ options: { settleTimeoutMs: 45_000 } })
    let sends = 0
    world.proxy.fault = (method) =>
      isSend(method) && ++sends % 2 === 0 ? { kind: 'drop_answer' } : undefined
    const payments = await Promise.all(Array.from({ length: 12 }, () => world.sign()))
    const answers = await world.presentAll(gateway, payments)
    expect(answers.filter(({ delivered }) => delivered)).toHaveLength(12)
    expect((await world.evidence()).transfers).toHaveLength(12)
  })
})

describe('a receipt that is withheld', () => {
  it.each(['/report', '/stream', 'settle'])(
    'leaves a payment for %s pending, which is redeemed once when it is presented again',
    async (path) => {
      const world = await open({ options: { settleTimeoutMs: 3000 } })
      const gateway = await world.start()
      await world.node('evm_setAutomine', false)
      try {
        const payment = await world.sign()
        const pending = await world.present(gateway, payment, path)
        expect(pending).toMatchObject({ delivered: false, reason: 'settlement_pending' })
        expect(pending.transaction).toMatch(/^0x[0-9a-f]{64}$/)
        expect(await world.present(gateway, payment, path)).toMatchObject({ delivered: false })
        await devnet.mine()
        const both = await Promise.all([
          world.presentUntilDecided(gateway, payment, path),
          world.presentUntilDecided(gateway, payment, path),
        ])
        expect(both.filter(({ delivered }) => delivered)).toHaveLength(1)
      } finally {
        await world.node('evm_setAutomine', true)
      }
      expect((await world.evidence()).records).toMatchObject([{ state: 'settled' }])
    },
  )

  it.each(['/report', 'settle'])(
    'for half a minute leaves %s pending after its own time-out, and is redeemed once later',
    async (path) => {
      const world = await open({ options: { settleTimeoutMs: 25_000 } })
      const gateway = await world.start()
      let withheldUntil = Infinity
      const none: Fault = { kind: 'answer', result: null }
      world.proxy.fault = (method) =>
        /Receipt/.test(method) && performance.now() < withheldUntil ? none : undefined
      const payment = await world.sign()
      const pending = await world.present(gateway, payment, path)
      withheldUntil = performance.now() + 5000
      expect(pending).toMatchObject({ delivered: false, reason: 'settlement_pending' })
      expect((await world.evidence()).transfers).toMatchObject([
        { transaction: pending.transaction },
      ])
      const both = await Promise.all([
        world.presentUntilDecided(gateway, payment, path),
        world.presentUntilDecided(gateway, payment, path),
      ])
      expect(both.filter(({ delivered }) => delivered)).toHaveLength(1)
      expect(performance.now()).toBeGreaterThan(withheldUntil)
    },
  )

  it('by the node alone is found later without a request', async () => {
    const world = await open({ options: { settleTimeoutMs: 3000 } })
    const gateway = await world.start()
    const none: Fault = { kind: 'answer', result: null }
    world.proxy.fault = (method) =>
      /^eth_get(TransactionReceipt|BlockReceipts)$/.test(method) ? none : undefined
    const payment = await world.sign()
    expect(await world.present(gateway, payment)).toMatchObject({ reason: 'settlement_pending' })
    world.proxy.fault = undefined
    await until(async () => (await world.records())[0]?.state === 'settled')
    expect(await world.presentUntilDecided(gateway, payment)).toMatchObject({ delivered: true })
    expect(await world.present(gateway, payment)).toMatchObject({
      reason: 'invalid_exact_evm_nonce_already_used',
    })
  })
})

describe('a node', () => {
  const faults: [string, Fault][] = [
    ['is down', { kind: 'drop_request' }],
    ['has had too many requests', { kind: 'http', status: 429 }],
    ['answers garbage', { kind: 'garble' }],
    ['answers for another chain', { kind: 'answer', result: '0x1' }],
  ]
  it.each(faults)(
    'that %s makes no payment invalid, and settles it when it is back',
    async (_n, fault) => {
      const world = await open()
      const gateway = await world.start()
      world.proxy.fault = () => fault
      const payments = await Promise.all(Array.from({ length: 5 }, () => world.sign()))
      for (const path of ['/report', '/stream', 'settle'])
        for (const answer of await Promise.all(
          payments.map((payment) => world.present(gateway, payment, path)),
        )) {
          expect(answer.delivered).toBe(false)
          expect([502, 503]).toContain(answer.status)
        }
      expect((await world.evidence()).transfers).toEqual([])
      world.proxy.fault = undefined
      const answers = await world.presentAll(gateway, payments)
      expect(answers.filter(({ delivered }) => delivered)).toHaveLength(5)
      expect(gateway.alive).toBe(true)
    },
  )

  it.each(faults.slice(0, 3))(
    'that %s while payments are in progress loses none',
    async (_name, fault) => {
      const world = await open()
      const gateway = await world.start()
      const payments = await Promise.all(Array.from({ length: 10 }, () => world.sign()))
      let sends = 0
      let isAway = false
      world.proxy.fault = (method) => {
        if (isSend(method) && ++sends === 5) {
          isAway = true
          setTimeout(() => (isAway = false), 1500)
        }
        return isAway ? fault : undefined
      }
      const answers = await world.presentAll(gateway, payments)
      expect(answers.filter(({ delivered }) => delivered)).toHaveLength(10)
      expect((await world.evidence()).transfers).toHaveLength(10)
    },
  )
})
