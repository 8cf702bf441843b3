import express from 'express'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { startTestShop, type Balances } from '../../../src/tools/testing/index.js'
import { useOpened } from '../../support/use-opened.js'

let runs = 0
let before: Balances
const shop = useOpened(() =>
  startTestShop(({ x402Protect }) =>
    express().get('/report', x402Protect('$0.25'), (_req, res) => {
      runs += 1
      res.send('sold')
    }),
  ),
)
beforeEach(async () => {
  runs = 0
  before = await shop.balances()
})

/** A purchase right after a failure succeeds. */
async function expectRecovery(): Promise<void> {
  expect((await shop.buy('/report')).status).toBe(200)
  const { payer, merchant } = await shop.balances()
  expect(Number(before.payer) - Number(payer)).toBeCloseTo(0.25)
  expect(Number(merchant) - Number(before.merchant)).toBeCloseTo(0.25)
}

describe('the next payment', () => {
  it('is refused for a payer without tokens, before the handler runs', async () => {
    shop.failNext('insufficient_funds')
    await expect(shop.buy('/report')).rejects.toMatchObject({
      status: 402,
      reason: 'insufficient_funds',
    })
    expect(runs).toBe(0)
    expect(await shop.balances()).toEqual(before)
    await expectRecovery()
  })

  it('reverts on chain after the handler has run, and nothing is sold', async () => {
    const failed: string[] = []
    const end = shop.gateway.on('failed', ({ transaction }) => void failed.push(transaction))
    shop.failNext('revert')
    const response = await shop.buy('/report', { expect: 402 })
    end()
    expect(await response.text()).not.toBe('sold')
    expect(response.settlement?.success).toBe(false)
    expect(failed).toEqual([response.settlement?.transaction])
    expect(runs).toBe(1)
    expect(await shop.balances()).toEqual(before)
    await expectRecovery()
  })

  it('meets a node that is away, and is answered 503', async () => {
    shop.failNext('node_away')
    const response = await shop.buy('/report', { expect: 503 })
    expect(response.headers.get('retry-after')).not.toBeNull()
    expect(runs).toBe(0)
    expect(await shop.balances()).toEqual(before)
    await expectRecovery()
  })

  it('stays pending, and is delivered when it is presented again', async () => {
    const headers = await shop.paymentFor('/report')
    shop.failNext('pending')
    const pending = await shop.fetch('/report', { headers })
    expect(pending.status).toBe(503)
    expect(Number((await shop.balances()).merchant) - Number(before.merchant)).toBeCloseTo(0.25)
    let again = await shop.fetch('/report', { headers })
    while (again.status === 503) again = await shop.fetch('/report', { headers })
    expect([again.status, await again.text()]).toEqual([200, 'sold'])
    const { merchant } = await shop.balances()
    expect(Number(merchant) - Number(before.merchant)).toBeCloseTo(0.25)
  })

  it('fails alone, while payments at the same time wait for it', async () => {
    shop.failNext('insufficient_funds')
    const results = await Promise.allSettled([1, 2, 3].map(() => shop.buy('/report')))
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
    expect(Number((await shop.balances()).merchant) - Number(before.merchant)).toBeCloseTo(0.5)
  })

  it('cannot be made to fail in an unknown way', () => {
    expect(() => shop.failNext('no_such_failure' as never)).toThrow(/insufficient_funds/)
  })
})
