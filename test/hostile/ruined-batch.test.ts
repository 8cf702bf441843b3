import { beforeAll, describe, expect, it } from '@jest/globals'
import { startDevnet } from '../../src/tools/devnet/index.js'
import { askNode } from '../support/core.js'
import { deploy, twoFacedWalletCode } from '../support/contracts.js'
import { delegate } from '../support/delegation.js'
import { balanceOf } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { openShop, settlementOf } from '../support/shop.js'
import type { TestPayer } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import type { Hex, PaymentPayload } from '../../src/shared/protocol/payment.js'
import { useOpened } from '../support/use-opened.js'

const HONEST = 57
const HOSTILE = 3
const PRICE = 10_000n

interface MinedTransaction {
  readonly gas: Hex
}

/** Signatures differ in their zero bytes, and so in what their bytes cost. */
function expectSameLimit(limit: bigint, before: bigint): void {
  expect(limit).toBeLessThan(before + before / 200n)
  expect(limit).toBeGreaterThan(before - before / 200n)
}

describe('payers whose code burns all gas once it costs something', () => {
  let runs = 0
  const devnet = useOpened(() => startDevnet({ blockTime: 1 }))
  const shop = useOpened(() =>
    openShop(devnet, (app, { x402Protect }) => {
      app.get('/report', x402Protect('$0.01'), (_req, res) => {
        runs++
        res.json({ report: 'for the payer' })
      })
    }),
  )
  beforeAll(async () => {
    // The first balance of a merchant takes more gas than what comes to it.
    await limitOfOne()
  })

  const newPayers = (count: number): Promise<TestPayer[]> =>
    Promise.all(Array.from({ length: count }, () => newPayer(devnet)))
  const sign = (payers: readonly TestPayer[]): Promise<PaymentPayload[]> =>
    Promise.all(payers.map((payer) => shop.sign('/report', payer)))
  const present = (payments: readonly PaymentPayload[]): Promise<Response[]> =>
    Promise.all(payments.map((payment) => shop.pay('/report', payment)))
  const hasCode = async ({ address }: TestPayer): Promise<boolean> =>
    (await askNode<Hex>(devnet, 'eth_getCode', address, 'latest')) !== '0x'
  const spent = async ({ address }: TestPayer): Promise<bigint> =>
    1_000_000n - (await balanceOf(devnet, address))
  /** The gas limit of the transaction that settles one more honest payment. */
  const limitOfOne = async (): Promise<bigint> => {
    const [response] = await present(await sign(await newPayers(1)))
    const { transaction } = settlementOf(response!)
    const { gas } = await askNode<MinedTransaction>(devnet, 'eth_getTransactionByHash', transaction)
    return BigInt(gas)
  }

  /** All pay at once; every honest one is served, pays once, and nobody can take it afterwards. */
  const expectAllServed = async (
    honest: readonly TestPayer[],
    payments: readonly PaymentPayload[],
    responses: readonly Response[],
  ): Promise<void> => {
    expect(responses.map(({ status }) => status)).toEqual(honest.map(() => 200))
    expect(await Promise.all(honest.map(spent))).toEqual(honest.map(() => PRICE))
    const stolen = await present(payments)
    expect(stolen.map(({ status }) => status)).toEqual(honest.map(() => 402))
    expect(await Promise.all(honest.map(spent))).toEqual(honest.map(() => PRICE))
  }

  it('are detected if they got their code after they had been served without', async () => {
    const limit = await limitOfOne()
    const [honest, hostile] = [await newPayers(HONEST), await newPayers(HOSTILE)]
    const [trusted] = [await present(await sign(hostile))]
    expect(trusted.map(({ status }) => status)).toEqual([200, 200, 200])

    const contract = await deploy(devnet, twoFacedWalletCode)
    await Promise.all(hostile.map((payer) => delegate(devnet, payer, contract)))
    await until(async () => (await Promise.all(hostile.map(hasCode))).every(Boolean))

    const [good, bad] = [await sign(honest), await sign(hostile)]
    const before = runs
    const [served, refused] = await Promise.all([present(good), present(bad)])
    await expectAllServed(honest, good, served)
    expect(refused.map(({ status }) => status)).toEqual([402, 402, 402])
    expect(await Promise.all(hostile.map(spent))).toEqual([PRICE, PRICE, PRICE])
    // What they asked for was not even begun.
    expect(runs - before).toBe(HONEST)
    expectSameLimit(await limitOfOne(), limit)
  })

  it('do not ruin others if they get their code in the block of the batch', async () => {
    const limit = await limitOfOne()
    const [honest, hostile] = [await newPayers(HONEST), await newPayers(HOSTILE)]
    const contract = await deploy(devnet, twoFacedWalletCode)
    const [good, bad] = [await sign(honest), await sign(hostile)]
    // Nothing is mined until all are on their way: what pays most for gas comes first.
    await askNode(devnet, 'evm_setIntervalMining', 0)
    await Promise.all(hostile.map((payer) => delegate(devnet, payer, contract)))
    const [served, refused] = [present([...bad.slice(0, 1), ...good]), present(bad.slice(1))]
    await until(async () => {
      const { submitted = [] } = shop.events
      const sent = new Set(submitted.map(({ payer }) => payer))
      return [...honest, ...hostile].every(({ address }) => sent.has(address))
    })
    await askNode(devnet, 'evm_mine')
    await askNode(devnet, 'evm_setIntervalMining', 1)

    const [first, ...others] = await served
    await expectAllServed(honest, good, others)
    expect([first, ...(await refused)].map((response) => response?.status)).toEqual([402, 402, 402])
    expect(await Promise.all(hostile.map(spent))).toEqual([0n, 0n, 0n])
    expectSameLimit(await limitOfOne(), limit)

    // They are known now, and cost nothing more.
    const sent = shop.events.submitted?.length
    const again = await present(await sign(hostile))
    expect(again.map(({ status }) => status)).toEqual([402, 402, 402])
    expect(shop.events.submitted).toHaveLength(sent!)
  })
})
