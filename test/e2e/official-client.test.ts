import { describe, expect, it } from '@jest/globals'
import { generatePrivateKey } from 'viem/accounts'
import { payingFetch } from '../../example-app/buy.js'
import type { DevnetAccount } from '../../src/tools/devnet/index.js'
import type { NetworkNameStyle } from '../../src/shared/protocol/networks.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { MEMBER_KEY, openExampleShop, useExampleShop } from '../support/example-shop.js'
import { paymentRequiredOf, settlementOf } from '../support/shop.js'

const devnet = useDevnet()
const shop = useExampleShop(devnet)
const merchantBalance = () => balanceOf(devnet, devnet.merchant.address)

/** Buys as the official client does, and tells what it cost. */
async function buy(path: string, payer: DevnetAccount) {
  const before = await Promise.all([balanceOf(devnet, payer.address), merchantBalance()])
  const response = await payingFetch(payer.privateKey)(shop.url + path)
  const text = await response.text()
  const after = await Promise.all([balanceOf(devnet, payer.address), merchantBalance()])
  return { response, text, paid: before[0] - after[0], earned: after[1] - before[1] }
}

describe('the official client', () => {
  it.each([
    ['/weather', 10_000n],
    ['/headlines?words=20', 20_000n],
    ['/headlines?words=7', 7_000n],
    ['/headlines?words=1000', 1_000_000n],
    ['/story', 50_000n],
    ['/report', 250_000n],
  ])('pays for %s exactly what it costs', async (path, price) => {
    const payer = devnet.payers[0]!
    const { response, paid, earned } = await buy(path, payer)
    expect(response.status).toBe(200)
    expect(paid).toBe(price)
    expect(earned).toBe(price)
    expect(settlementOf(response)).toEqual({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: 'eip155:84532',
      payer: payer.address,
    })
  })

  it('is shown to the handler as the payer', async () => {
    const payer = devnet.payers[1]!
    const { text } = await buy('/weather', payer)
    expect(JSON.parse(text)).toEqual({ city: 'Berlin', celsius: 21, paidBy: payer.address })
  })

  it('gets a stream piece by piece, paid for by the transaction that it opens with', async () => {
    const response = await payingFetch(devnet.payers[2]!.privateKey)(`${shop.url}/story`)
    const { transaction } = settlementOf(response)
    const decoder = new TextDecoder()
    const pieces: string[] = []
    for await (const chunk of response.body!) pieces.push(decoder.decode(chunk as Uint8Array))
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe(
      `Paid by transaction ${transaction}.\n` +
        'Once there was a robot.\nIt had a wallet.\nIt paid for this line.\n',
    )
  })

  it('gets a second 402 when its account is empty, and nothing moves', async () => {
    const before = await merchantBalance()
    const response = await payingFetch(generatePrivateKey())(`${shop.url}/weather`)
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).error).toBe('insufficient_funds')
    expect(await merchantBalance()).toBe(before)
  })

  it.each([undefined, 'caip2'] as (NetworkNameStyle | undefined)[])(
    'understands the networks that a gateway with networkNames %p writes',
    async (networkNames) => {
      const other = await openExampleShop(devnet, networkNames && { networkNames })
      try {
        const response = await payingFetch(devnet.payers[3]!.privateKey)(`${other.url}/weather`)
        expect(response.status).toBe(200)
      } finally {
        await other.close()
      }
    },
  )
})

describe('what costs nothing', () => {
  it('needs no payment', async () => {
    const { response, paid } = await buy('/', devnet.payers[4]!)
    expect(response.status).toBe(200)
    expect(response.headers.get('payment-response')).toBeNull()
    expect(paid).toBe(0n)
  })

  it('includes the report for members only', async () => {
    const report = (headers: Record<string, string>) => fetch(`${shop.url}/report`, { headers })
    const member = await report({ 'X-API-Key': MEMBER_KEY })
    expect(member.status).toBe(200)
    expect(await member.json()).toHaveProperty('report')
    expect((await report({ 'X-API-Key': 'guessed' })).status).toBe(402)
    expect((await report({})).status).toBe(402)
  })

  it.each(['?words=0', '?words=-5', '?words=1.5', '?words=1001', '?words=many'])(
    'includes a request that cannot be sold: /headlines%s',
    async (query) => {
      expect((await fetch(`${shop.url}/headlines${query}`)).status).toBe(400)
    },
  )
})

describe('a price that follows the request', () => {
  it('is asked for the current request', async () => {
    const priceOf = async (words: number) => {
      const response = await fetch(`${shop.url}/headlines?words=${words}`)
      return paymentRequiredOf(response).accepts[0]?.amount
    }
    expect(await Promise.all([1, 20, 333].map(priceOf))).toEqual(['1000', '20000', '333000'])
  })
})
