import { describe, expect, it } from '@jest/globals'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { useDevnet } from '../support/devnet.js'
import { emptyAccount, frontRun, newPayer, toHex, undo } from '../support/on-chain.js'
import { until } from '../support/until.js'
import { isSend } from '../support/rpc-proxy.js'
import { useWorlds } from './use-worlds.js'
import type { World } from './world.js'

const devnet = useDevnet()
const open = useWorlds(devnet)
const GWEI = 10n ** 9n
const ONE_ETHER = 10n ** 18n

/** Does something while transactions wait to be mined. */
async function withoutMining<T>({ node }: World, work: () => Promise<T>): Promise<T> {
  await node('evm_setAutomine', false)
  try {
    return await work()
  } finally {
    await node('evm_setAutomine', true)
  }
}

/** Resolves when the gateway has handed over so many transactions. */
const sends = ({ proxy }: World, count: number): Promise<void> =>
  until(() => proxy.methods.filter(isSend).length >= count)

describe('a stranger who is faster with the same authorization', () => {
  it.each(['/report', 'settle'])(
    'pays the merchant once, and %s is delivered once',
    async (path) => {
      const world = await open({ options: { settleTimeoutMs: 45_000 } })
      const gateway = await world.start()
      const payment = await world.sign()
      const answer = await withoutMining(world, async () => {
        const answering = world.present(gateway, payment, path)
        await sends(world, 1)
        await frontRun(devnet, payment)
        await devnet.mine()
        return answering
      })
      expect(answer).toMatchObject({ delivered: true })
      expect(await world.present(gateway, payment, path)).toMatchObject({ delivered: false })
      const { transfers, records } = await world.evidence()
      expect(transfers).toHaveLength(1)
      expect(records).toMatchObject([{ state: 'settled', transaction: transfers[0]!.transaction }])
    },
  )

  it('between verify and send is noticed before anything is sent', async () => {
    const world = await open()
    const gateway = await world.start()
    const payment = await world.sign()
    const answering = world.present(gateway, payment, '/held')
    await until(() => world.proxy.methods.includes('eth_call'))
    await until(async () => (await world.records()).length === 1)
    await frontRun(devnet, payment)
    await gateway.release()
    expect(await answering).toMatchObject({ delivered: true })
    expect((await world.evidence()).transfers).toHaveLength(1)
  })

  it('than a killed process leaves a payment that the next process honours', async () => {
    const world = await open()
    const first = await world.start()
    const payment = await world.sign()
    world.proxy.fault = (method) => {
      if (!isSend(method)) return undefined
      void first.kill()
      return { kind: 'drop_request' }
    }
    await world.present(first, payment)
    await first.kill()
    world.proxy.fault = undefined
    await frontRun(devnet, payment)
    const next = await world.start()
    expect(await world.presentUntilDecided(next, payment)).toMatchObject({ delivered: true })
    expect((await world.evidence()).transfers).toHaveLength(1)
  })
})

describe('a payer who empties the account', () => {
  it('between verify and settle is refused, and gets nothing', async () => {
    const world = await open()
    const gateway = await world.start()
    const payer = await newPayer(devnet)
    const payment = await world.sign({}, payer)
    const answering = world.present(gateway, payment, '/held')
    await until(async () => (await world.records()).length === 1)
    await emptyAccount(devnet, payer)
    await gateway.release()
    expect(await answering).toMatchObject({ status: 402, reason: 'insufficient_funds' })
    expect((await world.evidence()).transfers).toEqual([])
    // With money again, the same payment is good.
    await devnet.mint(payer.address, 10_000n)
    expect(await world.presentUntilDecided(gateway, payment)).toMatchObject({ delivered: true })
  })

  it.each(['/report', 'settle'])(
    'between send and block gets a refusal by %s and no goods',
    async (path) => {
      const world = await open({ options: { settleTimeoutMs: 45_000 } })
      const gateway = await world.start()
      const payer = await newPayer(devnet)
      const payment = await world.sign({}, payer)
      const answer = await withoutMining(world, async () => {
        const answering = world.present(gateway, payment, path)
        await sends(world, 1)
        await emptyAccount(devnet, payer)
        await devnet.mine()
        return answering
      })
      expect(answer).toMatchObject({ delivered: false, reason: 'invalid_transaction_state' })
      expect((await world.evidence()).transfers).toEqual([])
      expect(await world.records()).toMatchObject([{ state: 'failed' }])
    },
  )
})

describe('an authorization whose transaction failed', () => {
  it.each(['/report', 'settle'])(
    'and that a stranger sends later is redeemed once by %s',
    async (path) => {
      const world = await open({ options: { settleTimeoutMs: 3000 } })
      const gateway = await world.start()
      const payer = await newPayer(devnet)
      const payment = await world.sign({}, payer)
      await withoutMining(world, async () => {
        // Nobody is told that it failed: that would be true only for a while.
        expect(await world.present(gateway, payment, path)).toMatchObject({
          reason: 'settlement_pending',
        })
        await emptyAccount(devnet, payer)
        await devnet.mine()
      })
      await until(async () => (await world.records())[0]?.state === 'failed')
      await devnet.mint(payer.address, 10_000n)
      const transaction = await frontRun(devnet, payment)
      const answers = await Promise.all(
        Array.from({ length: 3 }, () => world.presentUntilDecided(gateway, payment, path)),
      )
      expect(answers.filter(({ delivered }) => delivered)).toMatchObject([{ transaction }])
      expect(await world.records()).toMatchObject([{ state: 'settled', transaction }])
    },
  )

  it('and that a stranger sends later is settled without a request', async () => {
    const world = await open({ options: { settleTimeoutMs: 3000 } })
    const gateway = await world.start()
    const payer = await newPayer(devnet)
    const payment = await world.sign({}, payer)
    await withoutMining(world, async () => {
      await world.present(gateway, payment)
      await emptyAccount(devnet, payer)
      await devnet.mine()
    })
    await until(async () => (await world.records())[0]?.state === 'failed')
    await gateway.kill()
    await devnet.mint(payer.address, 10_000n)
    await frontRun(devnet, payment)
    const next = await world.start()
    await until(async () => (await world.records())[0]?.state === 'settled')
    expect(await world.presentUntilDecided(next, payment)).toMatchObject({ delivered: true })
  })
})

describe('an authorization that lapses', () => {
  const soon = (seconds: number): string => String(Math.floor(Date.now() / 1000) + seconds)

  it('while its handler is slow is refused, and nothing is sent', async () => {
    const world = await open()
    const gateway = await world.start()
    const payment = await world.sign({ validBefore: soon(9) })
    expect(await world.present(gateway, payment, '/slow/5000')).toMatchObject({
      status: 402,
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    })
    expect(world.proxy.methods.filter(isSend)).toEqual([])
    expect((await world.evidence()).transfers).toEqual([])
  })

  it('while it waits to be mined is never counted as paid', async () => {
    const world = await open({ options: { settleTimeoutMs: 3000 } })
    const gateway = await world.start()
    // The chain's clock is not behind ours.
    await devnet.mine()
    const payment = await world.sign({ validBefore: soon(120) })
    await withoutMining(world, async () => {
      expect(await world.present(gateway, payment)).toMatchObject({ reason: 'settlement_pending' })
      const before = await world.node<Hex>('evm_snapshot')
      await world.node('evm_increaseTime', 600)
      await devnet.mine()
      await until(async () => (await world.records())[0]?.state === 'failed')
      const answer = await world.presentUntilDecided(gateway, payment)
      expect(answer).toMatchObject({ delivered: false, status: 402 })
      // Later tests sign by the real clock.
      await world.node('evm_revert', before)
    })
    expect((await world.evidence()).transfers).toEqual([])
  })
})

describe('a transaction that is stuck', () => {
  it('below a spike of the base fee is replaced with higher fees, and pays once', async () => {
    const world = await open({ options: { settleTimeoutMs: 20_000 } })
    const gateway = await world.start({ network: { replaceAfterSeconds: 2 } })
    const payments = await Promise.all(Array.from({ length: 3 }, () => world.sign()))
    try {
      await world.node('evm_setAutomine', false)
      const answering = world.presentAll(gateway, payments)
      await sends(world, 3)
      // Above what was offered: it waits while blocks go by. What comes only now is priced anew.
      const done = new AbortController()
      const spike = (async () => {
        while (!done.signal.aborted) {
          await world.node('anvil_setNextBlockBaseFeePerGas', toHex(300n * GWEI))
          await devnet.mine()
          await new Promise((resolve) => setTimeout(resolve, 250))
        }
      })()
      const answers = await answering.finally(() => done.abort())
      await spike
      expect(answers).toMatchObject(Array.from({ length: 3 }, () => ({ delivered: true })))
    } finally {
      await world.node('anvil_setNextBlockBaseFeePerGas', toHex(GWEI))
      await world.node('evm_setAutomine', true)
      await devnet.mine()
    }
    const { transfers, records } = await world.evidence()
    expect(transfers).toHaveLength(3)
    expect(records.map(({ state }) => state)).toEqual(['settled', 'settled', 'settled'])
    // The record names the transaction that was mined, not the one that was replaced.
    const recorded = records.map((record) => 'transaction' in record && record.transaction)
    expect(new Set(recorded)).toEqual(new Set(transfers.map(({ transaction }) => transaction)))
  })
})

describe('a reorganisation that drops the transaction', () => {
  it('before its receipt was seen has it sent again, and it pays once', async () => {
    const world = await open({ options: { settleTimeoutMs: 3000 } })
    const gateway = await world.start()
    const none = { kind: 'answer', result: null } as const
    let [isMined, underWay] = [false, 0]
    const see = (): 'pass' => {
      underWay--
      return 'pass'
    }
    world.proxy.fault = (method) => {
      if (/Receipt/.test(method)) return none
      if (!isSend(method)) return undefined
      if (isMined) return { kind: 'drop_request' }
      underWay++
      return { kind: 'inspect', see }
    }
    const payment = await world.sign()
    expect(await world.present(gateway, payment)).toMatchObject({ reason: 'settlement_pending' })
    await until(async () => (await world.evidence()).transfers.length === 1)
    // Nothing is sent again before the reorganisation was seen here.
    isMined = true
    await until(() => underWay === 0)
    await undo(devnet, (await world.evidence()).transfers[0]!.transaction)
    expect((await world.evidence()).transfers).toHaveLength(0)
    world.proxy.fault = undefined
    expect(await world.presentUntilDecided(gateway, payment)).toMatchObject({ delivered: true })
    expect((await world.evidence()).transfers).toHaveLength(1)
  })

  it('after its answer has gone out has it sent again, and the merchant is paid', async () => {
    const world = await open()
    const gateway = await world.start()
    const payment = await world.sign()
    expect(await world.presentUntilDecided(gateway, payment)).toMatchObject({ delivered: true })
    world.proxy.fault = (method) => (isSend(method) ? { kind: 'drop_request' } : undefined)
    await undo(devnet, (await world.evidence()).transfers[0]!.transaction)
    expect((await world.evidence()).transfers).toHaveLength(0)
    world.proxy.fault = undefined
    await until(async () => (await world.evidence()).transfers.length === 1)
    expect(await world.present(gateway, payment)).toMatchObject({ delivered: false })
  })
})

describe('a relayer out of gas', () => {
  it('sends nothing, and settles the same payments after a refill', async () => {
    const world = await open({ options: { settleTimeoutMs: 5000 } })
    const [relayer] = world.relayers
    await world.node('anvil_setBalance', relayer!.address, '0x0')
    const gateway = await world.start()
    const payments = await Promise.all(Array.from({ length: 5 }, () => world.sign()))
    for (const path of ['/report', 'settle'])
      for (const answer of await Promise.all(
        payments.map((payment) => world.present(gateway, payment, path)),
      ))
        expect(answer).toMatchObject({ delivered: false, status: 503 })
    expect(world.proxy.methods.filter(isSend)).toEqual([])
    await world.node('anvil_setBalance', relayer!.address, toHex(ONE_ETHER))
    const answers = await world.presentAll(gateway, payments)
    expect(answers.filter(({ delivered }) => delivered)).toHaveLength(5)
  })

  it('in the middle of its work loses no payment', async () => {
    const world = await open({ options: { settleTimeoutMs: 5000 } })
    const [relayer] = world.relayers
    const gateway = await world.start()
    expect(await world.present(gateway, await world.sign())).toMatchObject({ delivered: true })
    await world.node('anvil_setBalance', relayer!.address, '0x1')
    const payments = await Promise.all(Array.from({ length: 5 }, () => world.sign()))
    const first = await Promise.all(payments.map((payment) => world.present(gateway, payment)))
    expect(first.filter(({ delivered }) => delivered)).toHaveLength(0)
    await world.node('anvil_setBalance', relayer!.address, toHex(ONE_ETHER))
    const answers = await world.presentAll(gateway, payments)
    expect(answers.filter(({ delivered }) => delivered)).toHaveLength(5)
    expect((await world.evidence()).transfers).toHaveLength(6)
  })
})
