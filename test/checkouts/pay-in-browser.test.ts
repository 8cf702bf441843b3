/** A payment link in a real browser. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { payingFetch } from '../../example-app/buy.js'
import { findChromium, findViolations, launch, openTab } from '../support/browser.js'
import { addWallet } from '../support/browser-wallet.js'
import { useCleanup } from '../support/cleanup.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { openLinkShop, type LinkShop } from './shop.js'

const executable = findChromium()
const withBrowser = executable === undefined ? describe.skip : describe

const devnet = useDevnet()
const toEnd = useCleanup()

/** Units of USDC that a link costs. */
const PRICE = 50_000n

const earned = () => balanceOf(devnet, devnet.merchant.address)

let browser: Browser
beforeAll(async () => {
  if (executable !== undefined) browser = await launch(executable)
})
afterAll(() => browser?.close())

async function open(): Promise<LinkShop> {
  const shop = await openLinkShop(devnet, { paywall: { name: 'The shop' } })
  toEnd.push(() => shop.close())
  return shop
}

async function openBuyer() {
  const tab = await openTab(browser, { expected: /\b(402|409|503) \(/ })
  toEnd.push(() => tab.context.close())
  const wallet = await addWallet(tab.page, devnet.payers[0]!)
  return { wallet, ...tab }
}

const pay = (page: Page) => page.getByRole('button', { name: /^Pay 0\.05 USDC/ })

withBrowser('a payment link in a browser', () => {
  it('is paid once, and its buyer alone finds thanks and receipt again', async () => {
    const shop = await open()
    const link = await shop.link({ description: 'Two books' })
    const before = await earned()
    const { page, wallet, complaints } = await openBuyer()
    await page.goto(link.url)
    await pay(page).click()
    await page.getByText('Thank you. You paid $0.05').waitFor()
    const { settlement = '' } = await shop.read(link)

    await page.reload()
    await page.getByText('You bought this on').waitFor()
    expect(await page.getByText('This payment link has been paid').count()).toBe(0)
    expect(await page.getByRole('heading').allTextContents()).toEqual(['Two books'])
    expect(await page.getByRole('button', { name: 'Buy again' }).count()).toBe(0)
    await page.getByText('Receipt').click()
    // The merchant finds the payment by the number.
    expect(await page.locator('.receipt').textContent()).toContain(settlement)
    expect(await findViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Show it again' }).click()
    await page.getByText('Thank you. You paid $0.05').waitFor()

    const other = await openBuyer()
    await other.page.goto(link.url)
    await other.page.getByText('This payment link has been paid').waitFor()
    expect(await other.page.getByRole('button').count()).toBe(0)
    expect(await other.page.locator('.receipt').count()).toBe(0)

    await page.reload()
    await page.getByRole('button', { name: 'Remove this purchase' }).click()
    await page.getByText('This payment link has been paid').waitFor()
    expect(await page.evaluate('localStorage.length')).toBe(0)
    expect([wallet.signed.length, (await earned()) - before]).toEqual([1, PRICE])
    expect([...complaints, ...other.complaints]).toEqual([])
  })

  it('is charged once if a person and a program pay it at the same moment', async () => {
    const shop = await open()
    const link = await shop.link()
    const before = await earned()
    const { page, wallet, complaints } = await openBuyer()
    await page.goto(link.url)
    wallet.behaviour = 'wait'
    await pay(page).click()
    await page.getByText('Sign in Test Wallet').waitFor()
    wallet.behaviour = 'sign'
    const program = payingFetch(devnet.payers[1]!.privateKey)(link.url)
    const thanked = page.getByText('Thank you. You paid $0.05')
    const refused = page.getByText('This payment link has been paid')
    await thanked.or(refused).waitFor()
    const { status } = await program
    // One of the two has paid it, and each is told the truth.
    expect(status === 200).toBe((await thanked.count()) === 0)
    expect((await earned()) - before).toBe(PRICE)
    expect((await shop.read(link)).status).toBe('paid')
    expect(complaints).toEqual([])
  })

  it('is refused to a person who signs after somebody else has paid', async () => {
    const shop = await open()
    const link = await shop.link()
    const { page } = await openBuyer()
    await page.goto(link.url)
    await pay(page).waitFor()
    expect((await payingFetch(devnet.payers[1]!.privateKey)(link.url)).status).toBe(200)
    const before = await earned()
    await pay(page).click()
    await page.getByText('This payment link has been paid').waitFor()
    expect([await earned(), await page.evaluate('localStorage.length')]).toEqual([before, 0])
  })
})
