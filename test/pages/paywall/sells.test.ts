/** What the page shows first, and how a buyer chooses between tokens, networks and accounts. */
import { expect, it } from '@jest/globals'
import express from 'express'
import { createGateway } from '../../../src/gateway/gateway.js'
import { findViolations, openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { addWallet } from '../../support/browser-wallet.js'
import { listen } from '../../support/http.js'
import { CENT, openBuyer, openWorld, PAY } from './world.js'
import { useOpened } from '../../support/use-opened.js'

const PAYER = {
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  privateKey: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
} as const

const LONG = `A report on ${'the weather of last year, with tables, charts and sources, '.repeat(8)}`
const TRACKED =
  '?utm_source=newsletter&utm_medium=email&utm_campaign=autumn-2026&utm_content=button'

const expected = /\b402 \(/

// No node is asked for a 402.
const network = { rpcUrl: 'http://127.0.0.1:1', relayerKeys: [`0x${'22'.repeat(32)}`] }

const browser = useBrowser()
const world = useOpened(openWorld)
const gateway = useOpened(() =>
  createGateway({
    networks: { 'base-sepolia': network, base: { ...network, assets: ['USDC', 'EURC'] } },
    projects: [
      {
        id: 'shop',
        merchant: { payTo: `0x${'11'.repeat(20)}`, crossCurrency: true, fxBufferBps: 50 },
      },
    ],
    rates: { 'EUR/USD': '1.08' },
    paywall: { name: 'The shop', onRamp: 'https://ramp.example/usdc' },
  }),
)
const server = useOpened(() => {
  const app = express()
  app.get('/euro', gateway.x402Protect('4.99 EUR', { description: LONG }))
  return listen(app)
})

withBrowser('the page', () => {
  it('shows price and button on the first screen of a small phone, however long its texts are', async () => {
    const { page } = await openTab(browser, {
      ...{ width: 360, height: 640, isPhone: true, expected },
    })
    await addWallet(page, PAYER)
    await page.goto(`${server.url}/euro${TRACKED}`)
    const box = await page.getByRole('button', { name: /^Pay/ }).boundingBox()
    expect(box!.y + box!.height).toBeLessThanOrEqual(640)
    expect(await page.locator('.price').boundingBox()).not.toBeNull()
    expect(await page.locator('body').textContent()).not.toContain('autumn-2026</dd>')
    expect(await page.locator('details dd.code').last().textContent()).toBe(
      `${new URL(server.url).host}/euro`,
    )
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    // All of the description is there for those who want it.
    await page.getByText('Details').click()
    expect(await page.locator('details dd').first().textContent()).toBe(LONG)
  })

  it('offers the token of the price’s currency first, and names rate and network of the others', async () => {
    const { page, complaints } = await openTab(browser, { expected })
    await addWallet(page, PAYER)
    await page.goto(`${server.url}/euro`)
    await page.getByRole('button', { name: 'Pay 4.99 EURC with Test Wallet' }).waitFor()
    const shown = async () =>
      (await page.locator('.price, .tokens').allTextContents()).map((text) => text.trim())
    expect(await shown()).toEqual(['€4.99', '4.99 EURC on Base'])

    const radios = page.getByRole('radio')
    expect(await radios.count()).toBeGreaterThan(2)
    await page.getByLabel(/USDC on Base Sepolia/).check()
    expect(await shown()).toEqual([
      '€4.99 TEST: no real money',
      '5.416146 USDC on Base Sepolia · 1 EUR = 1.08 USD + 0.5%',
    ])
    await page.getByRole('button', { name: 'Pay 5.416146 USDC with Test Wallet' }).waitFor()
    expect(await page.locator('.signed').textContent()).toContain('5.416146 USDC on Base Sepolia')
    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('leads to the token where the account has none of it, and to test money on test networks only', async () => {
    const { page } = await openTab(browser, { expected })
    await page.goto(`${server.url}/euro`)
    const ramp = page.getByRole('link', { name: 'Get EURC' })
    expect(await ramp.getAttribute('href')).toBe('https://ramp.example/usdc')
    await page.getByLabel(/USDC on Base Sepolia/).check()
    expect(await page.getByRole('link', { name: 'Get test money' }).getAttribute('href')).toBe(
      'https://faucet.circle.com',
    )
    expect(await ramp.count()).toBe(0)
  })

  it('names the account that pays, and lets the buyer change it', async () => {
    const before = await world.earned()
    const [first, other] = world.devnet.payers
    const { page, wallet } = await openBuyer(world, browser, {
      wallet: { other: other! },
    })
    await page.goto(`${world.url}/buy/json`)
    // A wallet that was never connected names no account, and is not asked for one.
    await page.getByRole('button', { name: PAY }).waitFor()
    expect(await page.getByRole('button', { name: 'Use another account' }).count()).toBe(0)
    expect(wallet.asked).not.toContain('eth_requestAccounts')
    wallet.behaviour = 'decline'
    await page.getByRole('button', { name: PAY }).click()
    const short = (address: string) => `${address.slice(0, 6)}…${address.slice(-4)}`.toLowerCase()
    await page.getByText(short(first!.address)).waitFor()
    await page.getByRole('button', { name: 'Use another account' }).click()
    await page.getByText(short(other!.address)).waitFor()
    wallet.behaviour = 'sign'
    await page.getByRole('button', { name: PAY }).click()
    await page.getByRole('heading', { name: 'Paid.' }).waitFor()
    expect(wallet.signed.map((text) => JSON.parse(text).message.from)).toEqual([
      other!.address.toLowerCase(),
    ])
    expect(await world.earned()).toBe(before + CENT)
  })

  it('prefers none of several wallets', async () => {
    const { page } = await openBuyer(world, browser)
    const look = async () =>
      new Set(
        await page.evaluate<string[]>(`[...document.querySelectorAll('.wallets > button')].map(
          (button) => getComputedStyle(button).backgroundColor,
        )`),
      )
    await page.goto(`${world.url}/buy/json`)
    await page.getByRole('button', { name: PAY }).waitFor()
    const main = await look()
    await addWallet(page, PAYER, { name: 'Other Wallet' })
    await page.reload()
    await page.getByRole('button', { name: /with Other Wallet$/ }).waitFor()
    const [several, ...others] = await look()
    expect([others, main.has(several ?? '')]).toEqual([[], false])
    expect(await findViolations(page)).toEqual([])
  })

  it('says what to do if the wallet cannot ask for another account', async () => {
    const { page, wallet } = await openBuyer(world, browser)
    await page.goto(`${world.url}/buy/json`)
    wallet.behaviour = 'decline'
    await page.getByRole('button', { name: PAY }).click()
    await page.getByRole('button', { name: 'Use another account' }).click()
    await page.getByText('Choose the account in Test Wallet.').waitFor()
    expect(wallet.asked).toContain('wallet_requestPermissions')
  })
})
