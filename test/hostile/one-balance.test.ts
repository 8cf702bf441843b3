import { describe, expect, it } from '@jest/globals'
import { startDevnet } from '../../src/tools/devnet/index.js'
import { balanceOf } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { openShop, paymentRequiredOf } from '../support/shop.js'
import { newNonce, type TestPayer } from '../support/sign-payment.js'
import { privateKeyToAccount } from 'viem/accounts'
import { useOpened } from '../support/use-opened.js'

describe('a payer who presents more payments at once than he can cover', () => {
  let runs = 0
  const devnet = useOpened(() => startDevnet({ blockTime: 2 }))
  const shop = useOpened(() =>
    openShop(devnet, (app, { x402Protect }) => {
      app.get('/report', x402Protect('$0.01'), (_req, res) => {
        runs++
        res.json({ report: 'for the payer' })
      })
      app.get('/broken', x402Protect('$0.01'), (_req, res) => {
        setTimeout(() => res.status(500).json({}), 50)
      })
    }),
  )

  const payerWith = async (units: bigint): Promise<TestPayer> => {
    const privateKey = newNonce()
    const { address } = privateKeyToAccount(privateKey)
    await devnet.mint(address, units)
    return { address, privateKey }
  }
  const buy = async (payer: TestPayer, times: number): Promise<readonly string[]> => {
    const payments = await Promise.all(
      Array.from({ length: times }, () => shop.sign('/report', payer)),
    )
    const responses = await Promise.all(payments.map((payment) => shop.pay('/report', payment)))
    return responses.map((response) =>
      response.ok ? 'served' : (paymentRequiredOf(response).error ?? ''),
    )
  }
  const count = (answers: readonly string[], answer: string): number =>
    answers.filter((one) => one === answer).length

  it('is served once of 200 times for a balance of one price, and nothing else runs or is sent', async () => {
    const [eve, honest] = [await payerWith(10_000n), await newPayer(devnet)]
    runs = 0
    const [answers, others] = await Promise.all([buy(eve, 200), buy(honest, 10)])
    expect(count(answers, 'served')).toBe(1)
    expect(count(answers, 'insufficient_funds')).toBe(199)
    expect(count(others, 'served')).toBe(10)
    expect(runs).toBe(11)
    expect(shop.events.submitted?.filter(({ payer }) => payer === eve.address)).toHaveLength(1)
    expect(shop.events.failed).toBeUndefined()
  })

  it('is served as often as his balance holds the price', async () => {
    const payer = await payerWith(35_000n)
    const answers = await buy(payer, 8)
    expect(count(answers, 'served')).toBe(3)
    expect(count(answers, 'insufficient_funds')).toBe(5)
    expect(await balanceOf(devnet, payer.address)).toBe(5000n)
  })

  it('is served with his last cent right after his previous payment was mined', async () => {
    const payer = await payerWith(30_000n)
    for (let payment = 0; payment < 3; payment++) expect(await buy(payer, 1)).toEqual(['served'])
    expect(await buy(payer, 1)).toEqual(['insufficient_funds'])
  })

  it('is served again once a reservation of his was released', async () => {
    const payer = await payerWith(10_000n)
    const failed = await Promise.all(
      Array.from({ length: 5 }, async () => shop.pay('/broken', await shop.sign('/broken', payer))),
    )
    expect(new Set(failed.map(({ status }) => status))).toEqual(new Set([402, 500]))
    expect(await buy(payer, 1)).toEqual(['served'])
  })
})
