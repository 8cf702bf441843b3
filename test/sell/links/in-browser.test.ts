/** Payment links in a browser: paid once, by whoever is first, and then on to the shop. */
import { expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { payingFetch } from '../../../example-app/buy.js'
import { findViolations, openTab, type Tab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { addWallet } from '../../support/browser-wallet.js'
import { useCleanup } from '../../support/cleanup.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { listen } from '../../support/http.js'
import { until } from '../../support/until.js'
import { openLinkShop, type LinkShop } from './shop.js'

const devnet = useDevnet()
const toEnd = useCleanup()

const PRICE = 50_000n

/** Problems of links are errors to the console of the browser. */
const expected = /status of (402|409|410|503) /

const earned = () => balanceOf(devnet, devnet.merchant.address)
const payButton = (page: Page) => page.getByRole('button', { name: /^Pay 0\.05 USDC with/ })

const browser = useBrowser()

async function open(): Promise<LinkShop> {
  const merchant = {
    payTo: devnet.merchant.address,
    name: 'Acme Books',
    branding: { accent: '#0b5d4d' },
  }
  const tokens = ['x402_test-token-of-the-shop']
  const shop = await openLinkShop(devnet, { projects: [{ id: 'shop', tokens, merchant }] })
  toEnd.push(() => shop.close())
  return shop
}

/** The shop's own pages, where people go from the link. */
async function openOwnPages(): Promise<string> {
  const server = await listen((req, res) => {
    res.setHeader('Content-Type', 'text/html')
    res.end(`<!doctype html><link rel="icon" href="data:,"><h1>The shop at ${req.url}</h1>`)
  })
  toEnd.push(() => server.close())
  return server.url
}

/** A tab with a wallet. @param payer - Number of the account that pays. */
async function openBuyer(payer: number): Promise<Tab> {
  const tab = await openTab(browser, { expected })
  await addWallet(tab.page, devnet.payers[payer]!, { rpcUrl: devnet.rpcUrl })
  return tab
}

withBrowser('a payment link in a browser', () => {
  it('is paid by a person, who goes on to the shop with its id', async () => {
    const [shop, own] = [await open(), await openOwnPages()]
    const link = await shop.link({ description: 'Two books', successUrl: `${own}/thanks` })
    const before = await earned()
    const { page, complaints } = await openBuyer(0)
    await page.goto(link.url)
    await page.getByText('Acme Books').first().waitFor()
    await page.getByRole('heading', { level: 1, name: 'Two books' }).waitFor()
    await payButton(page).click()
    await page.getByRole('heading', { name: 'The shop at' }).waitFor()
    expect(page.url()).toBe(`${own}/thanks?checkout=${link.id}`)
    expect((await earned()) - before).toBe(PRICE)
    expect((await shop.read(link)).status).toBe('paid')
    expect(complaints).toEqual([])
  })

  it('is charged once when a person and the official client pay it at the same moment', async () => {
    const [shop, own] = [await open(), await openOwnPages()]
    for (let round = 0; round < 3; round++) {
      const link = await shop.link({ successUrl: `${own}/thanks` })
      const before = await earned()
      const { page } = await openBuyer(0)
      await page.goto(link.url)
      await payButton(page).waitFor()
      const [bought] = await Promise.all([
        payingFetch(devnet.payers[1]!.privateKey)(link.url),
        payButton(page).click(),
      ])
      const hasBought = bought.status === 200
      if (hasBought) {
        await page.getByText('This payment link has been paid.').first().waitFor()
        await until(async () => (await payButton(page).count()) === 0)
      } else {
        expect([409, 503]).toContain(bought.status)
        await page.getByRole('heading', { name: 'The shop at' }).waitFor()
      }
      expect((await earned()) - before).toBe(PRICE)
      expect((await shop.read(link)).status).toBe('paid')
    }
  })

  it('is paid once, and its buyer alone finds thanks and receipt again', async () => {
    const shop = await open()
    const link = await shop.link({ description: 'Two books' })
    const before = await earned()
    const { page, complaints } = await openBuyer(0)
    const own = page.getByText(/^Paid\. \$0\.05 to Acme Books, on .*\d{4}/)
    await page.goto(link.url)
    await payButton(page).click()
    await own.waitFor()
    const { settlement = '' } = await shop.read(link)
    const buttons = ['Copy', 'Print', 'Remove this purchase from the browser']
    const visible = () => page.locator('#pay button:visible').allTextContents()
    expect([await visible(), await page.locator('#pay pre').count()]).toEqual([[buttons[2]], 0])
    expect(await findViolations(page)).toEqual([])

    await page.reload()
    await own.waitFor()
    expect(await page.getByText('This payment link has been paid').count()).toBe(0)
    expect(await visible()).toEqual([buttons[2]])
    await page.locator('.receipt summary').click()
    expect([...new Set(await visible())]).toEqual(buttons)
    // The merchant finds the payment by the number.
    expect(await page.locator('.receipt').textContent()).toContain(settlement)
    expect(await findViolations(page)).toEqual([])

    const other = await openBuyer(1)
    await other.page.goto(link.url)
    await other.page.getByText('This payment link has been paid').waitFor()
    expect(await other.page.getByRole('button', { name: /Pay/ }).count()).toBe(0)
    expect(await other.page.locator('.receipt').count()).toBe(0)
    expect(await findViolations(other.page)).toEqual([])

    await page.getByRole('button', { name: 'Remove this purchase' }).click()
    await page.getByText('This payment link has been paid').waitFor()
    expect(await page.evaluate('localStorage.length')).toBe(0)
    expect((await earned()) - before).toBe(PRICE)
    expect([...complaints, ...other.complaints]).toEqual([])
  })

  it('says to its buyer what was paid back, in part and in full', async () => {
    const shop = await open()
    const link = await shop.link({ description: 'Two books' })
    const { page, complaints } = await openBuyer(0)
    await page.goto(link.url)
    await payButton(page).click()
    await page.getByText('Paid. $0.05 to Acme Books').waitFor()
    await shop.refund(link, 20_000n)
    await page.reload()
    await page.getByText('Acme Books has refunded 0.02 USDC of 0.05 USDC.').waitFor()
    await page.getByText('Paid. $0.05 to Acme Books').waitFor()
    expect(await findViolations(page)).toEqual([])
    await shop.refund(link)
    await page.reload()
    await page.getByText('Acme Books has refunded this payment.').waitFor()
    expect(complaints).toEqual([])
  })

  it('is refused to a person who signs after somebody else has paid', async () => {
    const shop = await open()
    const link = await shop.link()
    const { page } = await openBuyer(0)
    await page.goto(link.url)
    await payButton(page).waitFor()
    expect((await payingFetch(devnet.payers[1]!.privateKey)(link.url)).status).toBe(200)
    const before = await earned()
    await payButton(page).click()
    await page.getByText('This payment link has been paid').waitFor()
    expect([await earned(), await page.evaluate('localStorage.length')]).toEqual([before, 0])
  })

  it('is left for the shop by those who do not want to pay', async () => {
    const [shop, own] = [await open(), await openOwnPages()]
    const link = await shop.link({ cancelUrl: `${own}/cart` })
    const { page, complaints } = await openBuyer(0)
    await page.goto(link.url)
    await page.getByRole('link', { name: 'Back to Acme Books' }).click()
    await page.getByRole('heading', { name: 'The shop at /cart' }).waitFor()
    expect(complaints).toEqual([])
  })
})
