/** What was bought stays with its buyer: after a reload, in other tabs, and in a browser that was closed. */
import { beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { addWallet } from '../../support/browser-wallet.js'
import { until } from '../../support/until.js'
import { CENT, openBuyer, openWorld, PAY, type Buyer } from './world.js'
import { useOpened } from '../../support/use-opened.js'

const expected = /\b(402|404|410|500) \(/

const browser = useBrowser()
const world = useOpened(openWorld)
let buyer: Buyer
let before: bigint

beforeAll(() => {
  world.stream.mayEnd = true
})
beforeEach(async () => {
  before = await world.earned()
  buyer = await openBuyer(world, browser, { expected })
})

const pay = (page: Page) => page.getByRole('button', { name: PAY }).click()
const showAgain = (page: Page) => page.getByRole('button', { name: 'Show it again' }).click()
const receipt = (page: Page) => page.locator('.receipt')
const stored = (page: Page) => page.evaluate('Object.keys(localStorage).length')

/** Pays for a page and waits until the browser has noted that it was received. */
async function buy(path: string, seen: string): Promise<Page> {
  const { page } = buyer
  await page.goto(world.url + path)
  await pay(page)
  await page.getByText(seen).first().waitFor()
  await until(async () =>
    String(await page.evaluate('Object.values(localStorage)[0]')).includes('"received":"again"'),
  )
  return page
}

/** Each kind of purchase, and what shows that it is there. */
const KINDS: readonly (readonly [path: string, seen: string])[] = [
  ['/buy/article', 'written by its own script'],
  ['/buy/json', '12345678901234567890'],
  ['/buy/stream', 'the last part'],
  ['/buy/picture', 'This is what you bought'],
  ['/buy/file', 'saved as Bericht'],
  ['/buy/redirect', 'The signed link'],
]

withBrowser('the paywall shows again', () => {
  it.each(KINDS)(
    'for one payment, in every tab and after the browser was closed: %s',
    async (path, seen) => {
      const page = await buy(path, seen)
      const runs = { ...world.runs }
      const comesBack = async (to: Page): Promise<void> => {
        await to.getByText('You bought this on').waitFor()
        expect(await to.getByRole('button', { name: PAY }).count()).toBe(0)
        await showAgain(to)
        await to.getByText(seen).first().waitFor()
      }
      await page.goto(world.url + path)
      await comesBack(page)

      const second = await buyer.context.newPage()
      await second.goto(world.url + path)
      await comesBack(second)

      const storageState = await buyer.context.storageState()
      const later = await openBuyer(world, browser, { storageState, expected })
      await later.page.goto(world.url + path)
      await comesBack(later.page)
      expect([later.wallet.signed.length, later.complaints]).toEqual([0, []])
      await later.context.close()

      expect(buyer.wallet.signed).toHaveLength(1)
      expect(await world.earned()).toBe(before + CENT)
      expect(world.runs).toEqual(runs)
      expect(buyer.complaints).toEqual([])
    },
  )

  it('to other tabs at once, which then sign nothing', async () => {
    const second = await buyer.context.newPage()
    const wallet = await addWallet(second, world.devnet.payers[1]!)
    await second.goto(`${world.url}/buy/json`)
    await second.getByRole('button', { name: PAY }).waitFor()
    await buy('/buy/json', '12345678901234567890')
    await second.getByText('You bought this on').waitFor()
    expect([wallet.asked.includes('eth_signTypedData_v4'), await world.earned()]).toEqual([
      false,
      before + CENT,
    ])
  })

  it('what another tab has paid for while the wallet of this one was asking', async () => {
    const second = await buyer.context.newPage()
    const wallet = await addWallet(second, world.devnet.payers[1]!)
    await second.goto(`${world.url}/buy/json`)
    wallet.behaviour = 'wait'
    await pay(second)
    await second.getByText('Sign in Test Wallet').waitFor()
    await buy('/buy/json', '12345678901234567890')
    wallet.behaviour = 'sign'
    await second.getByText('You bought this on').waitFor()
    // It was signed, and never sent.
    expect([wallet.signed.length, await world.earned()]).toEqual([1, before + CENT])
  })

  it('only what is kept: nothing after a day, and nothing at another URL', async () => {
    const page = await buy('/buy/json', '12345678901234567890')
    await page.goto(`${world.url}/buy/json?other`)
    await page.getByRole('button', { name: PAY }).waitFor()
    await page.evaluate(`for (const [key, value] of Object.entries(localStorage)) {
      const kept = JSON.parse(value)
      localStorage.setItem(key, JSON.stringify({ ...kept, signedAt: kept.signedAt - 86400 }))
    }`)
    await page.goto(`${world.url}/buy/json`)
    await page.getByRole('button', { name: PAY }).waitFor()
    expect(await stored(page)).toBe(0)
  })

  it('nothing after it was removed from the browser', async () => {
    const page = await buy('/buy/json', '12345678901234567890')
    await page.reload()
    await page.getByRole('button', { name: 'Remove this purchase' }).click()
    await page.getByRole('button', { name: PAY }).waitFor()
    expect(await stored(page)).toBe(0)
  })

  it('the first purchase if a second one comes to nothing, and the second if it does not', async () => {
    const page = await buy('/buy/json', '12345678901234567890')
    await page.reload()
    await page.getByRole('button', { name: 'Buy again' }).click()
    buyer.wallet.behaviour = 'decline'
    await pay(page)
    await page.getByText('You declined').waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Buy again' }).click()
    // A node that knows no balance lets a payment through that the gateway refuses.
    buyer.wallet.behaviour = 'sign'
    await page.route('**/buy/json', (route) =>
      route.request().headers()['payment-signature'] === undefined
        ? route.continue()
        : route.fulfill({ status: 404, body: 'gone' }),
    )
    await pay(page)
    await page.getByText('system failed (404), and you were not charged').waitFor()
    await page.unrouteAll()
    await page.reload()
    await page.getByText('You bought this on').waitFor()
    expect(await world.earned()).toBe(before + CENT)

    await page.getByRole('button', { name: 'Buy again' }).click()
    await pay(page)
    await page.getByRole('heading', { name: 'Paid.' }).waitFor()
    expect(await world.earned()).toBe(before + 2n * CENT)
    expect(await stored(page)).toBe(1)
  })

  it('the receipt of what the server does not keep, and does not promise more', async () => {
    const { page } = buyer
    await page.goto(`${world.url}/buy/large-article`)
    await Promise.all([page.waitForEvent('download'), pay(page)])
    await page.getByText('The page is too large to show here').waitFor()
    await page.reload()
    await page.getByText('it cannot be shown again').waitFor()
    expect(await page.getByRole('button', { name: 'Show it again' }).count()).toBe(0)
    await receipt(page).locator('summary').click()
    expect(await receipt(page).textContent()).toContain('0.01 USDC on Base Sepolia')
    expect([await world.earned(), world.runs['large']]).toEqual([before + CENT, 1])
  })

  it('the receipt if the server has lost the purchase, and charges nothing', async () => {
    const page = await buy('/buy/json', '12345678901234567890')
    await world.restart()
    await page.reload()
    await showAgain(page)
    await page.getByText('is no longer stored').waitFor()
    expect(await receipt(page).count()).toBe(1)
    expect(await page.getByRole('button', { name: 'Show it again' }).count()).toBe(0)
    expect([buyer.wallet.signed.length, await world.earned()]).toEqual([1, before + CENT])
  })

  it('nothing at a URL that was not paid for, and forgets no purchase there', async () => {
    const page = await buy('/buy/json', '12345678901234567890')
    await page.evaluate(`for (const [key, value] of Object.entries(localStorage))
      localStorage.setItem(key + '?other', value)`)
    await page.goto(`${world.url}/buy/json?other`)
    await showAgain(page)
    await page.getByText('Your payment is safe').waitFor()
    expect([await stored(page), await world.earned()]).toEqual([2, before + CENT])
  })

  it('no receipt for what the seller gave for nothing', async () => {
    const { page } = buyer
    await page.goto(`${world.url}/buy/given`)
    await pay(page)
    await page.getByText('The seller reported no charge').waitFor()
    await page.getByText('for nothing').waitFor()
    expect([await receipt(page).count(), await stored(page)]).toEqual([0, 0])
    expect(await world.earned()).toBe(before)
  })

  it('no receipt for a page that the seller gave for nothing', async () => {
    const { page } = buyer
    await page.goto(`${world.url}/buy/given-page`)
    await pay(page)
    await page.getByRole('heading', { name: 'A free page' }).waitFor()
    await page.reload()
    await page.getByText('its outcome is unknown').waitFor()
    expect(await receipt(page).count()).toBe(0)
    expect(await world.earned()).toBe(before)
  })

  it('the receipt of a payment after which the seller failed', async () => {
    const { page } = buyer
    await page.goto(`${world.url}/buy/breaks`)
    await pay(page)
    await page.getByText('error (500), but the payment was settled').waitFor()
    await receipt(page).locator('summary').click()
    expect(await receipt(page).textContent()).toMatch(/0x[0-9a-f]{64}/)
    expect(await world.earned()).toBe(before + CENT)
    await page.reload()
    expect(await receipt(page).count()).toBe(1)
  })

  it('HTML that was just bought where the browser stores nothing', async () => {
    const { page } = buyer
    await page.addInitScript(`Object.defineProperty(window, 'localStorage', {
      get() { throw new DOMException('blocked', 'SecurityError') },
    })`)
    await page.goto(`${world.url}/buy/article`)
    await pay(page)
    await page.getByText('written by its own script').waitFor()
    await page.goto(`${world.url}/buy/json`)
    await pay(page)
    await page.getByRole('heading', { name: 'Paid.' }).waitFor()
    expect([buyer.wallet.signed.length, await world.earned()]).toEqual([2, before + 2n * CENT])
    expect(buyer.complaints).toEqual([])
  })
})
