/** The page of the example app, in a real browser: it buys one thing of each kind with the wallet it offers. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Locator, Page } from 'playwright-core'
import { findViolations, openTab } from '../support/browser.js'
import { useBrowser, withBrowser } from '../support/use-browser.js'
import { startProgram, type Program } from '../support/program.js'

const MAIN = fileURLToPath(new URL('../../dist/example/main.js', import.meta.url))

let example: Program
let shop: string
const browser = useBrowser()
beforeAll(async () => {
  example = startProgram([MAIN], { env: { PORT: '0' } })
  shop = await example.prints(/^Shop +(http\S+)/m)
  await example.prints(/(Ctrl-C ends everything)/)
})
afterAll(() => example?.end('SIGINT'))

/** The card of a product. */
const card = (page: Page, title: string): Locator =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title }) })

/** Buys, and waits until it is paid. @returns The card, with what was bought. */
async function buy(page: Page, title: string): Promise<Locator> {
  const product = card(page, title)
  await product.getByRole('button', { name: /^Buy/ }).click()
  await product.getByText(/^Paid by transaction 0x[0-9a-f]{64}$/).waitFor()
  return product
}

withBrowser('the page of the example', () => {
  it('sells one thing of each kind for play money without an error in the browser', async () => {
    // A browser reports each 402, which is how a price is asked for.
    const { page, complaints } = await openTab(browser, { expected: /status of 402/ })
    await page.goto(shop)
    await page.getByText(/^Account 0x/).waitFor()
    expect(await page.getByLabel('Pay with').locator('option').allTextContents()).toEqual([
      'Devnet wallet (play money only)',
    ])

    const goods = async (title: string) => (await buy(page, title)).locator('pre').textContent()
    expect(JSON.parse((await goods('The weather')) ?? '')).toMatchObject({ city: 'Berlin' })
    expect(JSON.parse((await goods('Headlines')) ?? '')).toMatchObject({ paid: '20000 units' })
    expect(JSON.parse((await goods('A museum ticket')) ?? '')).toMatchObject({ admits: 1 })
    expect(JSON.parse((await goods('The report')) ?? '')).toHaveProperty('report')
    expect(JSON.parse((await goods('The market')) ?? '')).toMatchObject({ sold: 'a pretzel' })
    expect(await goods('A story, line by line')).toMatch(
      /^Paid by transaction 0x[^]*this line\.\n$/,
    )

    const essay = await buy(page, 'An essay')
    const frame = essay.locator('iframe').contentFrame()
    await frame.getByRole('heading', { name: 'On umbrellas' }).waitFor()

    const poster = await buy(page, 'A poster')
    const download = page.waitForEvent('download')
    await poster.getByRole('link', { name: 'Save umbrella.svg' }).click()
    expect(await readFile(await (await download).path(), 'utf8')).toMatch(/^<svg /)

    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('refunds once', async () => {
    const { page } = await openTab(browser, { expected: /status of 402/ })
    await page.goto(shop)
    await page.getByText(/^Account 0x/).waitFor()
    const product = await buy(page, 'The weather')
    const paid = await product.getByText(/^Paid by transaction/).textContent()
    await product.getByRole('button', { name: 'Give it back' }).click()
    await product.getByText(/^Refunded by transaction 0x[0-9a-f]{64}$/).waitFor()
    const again = await fetch(`${shop}/refunds`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ transaction: paid?.split(' ').at(-1) }),
    })
    expect(again.status).toBe(409)
  })

  it('explains a refused payment and a missing wallet', async () => {
    const { page } = await openTab(browser, { expected: /status of 402/ })
    await page.goto(shop)
    await page.getByText(/^Account 0x/).waitFor()
    // Another wallet, which declines.
    await page.evaluate(`window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: {
      info: { uuid: 'declines', name: 'A wallet that declines', rdns: 'test.declines' },
      provider: { request: async () => { throw new Error('You declined.') } },
    } }))`)
    await page.getByLabel('Pay with').selectOption('A wallet that declines')
    await page.getByText('The wallet refused: You declined.').waitFor()
    const product = card(page, 'The weather')
    await product.getByRole('button', { name: /^Buy/ }).click()
    await product.getByText('Not bought: You declined.').waitFor()
    expect(await product.locator('pre').count()).toBe(0)
  })

  it('fits a phone and dark mode, and is a list for programs', async () => {
    const { page, context, complaints } = await openTab(browser, {
      ...{ colorScheme: 'dark', width: 360, height: 740 },
    })
    await page.goto(shop)
    await page.getByRole('heading', { name: 'The weather' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()

    const list = await fetch(shop)
    expect(list.headers.get('vary')).toMatch(/accept/i)
    const { products } = (await list.json()) as { products: readonly { path: string }[] }
    for (const { path } of products) expect((await fetch(shop + path)).status).toBe(402)
  })

  it('links to the paywall, the documentation of the API, the console and the metrics', async () => {
    const { page, context } = await openTab(browser)
    await page.goto(shop)
    await page.getByRole('link', { name: '/essay' }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.title()).not.toBe('The example shop')
    await page.goto(shop)
    await page.getByRole('link', { name: 'API documentation' }).click()
    await page.getByText('Settle a payment on chain').first().waitFor()
    await page.goto(shop)
    await page.getByRole('link', { name: 'Console' }).click()
    await page.getByLabel('Token').fill('example-admin-token-for-the-devnet-only')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await context.close()
    expect(await (await fetch(`${shop}/metrics`)).text()).toContain('x402_')
  })
})
