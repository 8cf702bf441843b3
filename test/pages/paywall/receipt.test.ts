/** The receipt of a purchase: its facts, and how it is copied and printed. */
import { expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { recordId } from '../../../src/ledger/record.js'
import { findViolations } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { openBuyer, openWorld, PAY, type Buyer } from './world.js'
import { useOpened } from '../../support/use-opened.js'

const browser = useBrowser()
const world = useOpened(() => openWorld({ paywall: { name: 'The Daily Example' } }))

/** Buys JSON, and opens its receipt. */
async function buy(options: { colorScheme?: 'dark' } = {}): Promise<Buyer> {
  const buyer = await openBuyer(world, browser, options)
  await buyer.page.goto(`${world.url}/buy/json`)
  await buyer.page.getByRole('button', { name: PAY }).click()
  await buyer.page.getByRole('heading', { name: 'Paid.' }).waitFor()
  await openReceipt(buyer.page)
  return buyer
}

const openReceipt = (page: Page) => page.locator('.receipt summary').click()

/** The rows of the receipt, by their labels. */
const rowsOf = (page: Page) =>
  page
    .locator('.receipt dl > div')
    .evaluateAll<Record<string, string>, RowElement>((rows) =>
      Object.fromEntries(
        rows.map((row) => [
          row.querySelector('dt')?.textContent ?? '',
          row.querySelector('dd')?.textContent?.replace(/Copy$/, '') ?? '',
        ]),
      ),
    )

withBrowser('a receipt', () => {
  it('says who paid whom for what, with the transaction and the seller’s number of the payment', async () => {
    const { page, wallet, complaints } = await buy()
    const { devnet } = world
    const { message } = JSON.parse(wallet.signed[0] ?? '') as { message: SignedMessage }
    const rows = await rowsOf(page)
    const { from, nonce } = message
    expect(rows).toEqual({
      Number: recordId({ chainId: 84532, contract: devnet.asset, from, nonce } as RecordKey),
      Date: expect.stringMatching(/\d{4}, .*(UTC|GMT|[A-Z]{3,4})/),
      Seller: 'The Daily Example',
      Item: 'A thing to buy',
      Page: `${world.url}/buy/json`,
      Price: '$0.01',
      Amount: '0.01 USDC on Base Sepolia',
      Note: 'TEST: no real money',
      'Paid by': devnet.payers[0]!.address.toLowerCase(),
      'Paid to': devnet.merchant.address,
      'Transaction hash': expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    const link = page.locator('.receipt').getByRole('link')
    expect(await link.getAttribute('href')).toBe(
      `https://sepolia.basescan.org/tx/${rows['Transaction hash']}`,
    )
    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('can be copied as text', async () => {
    const { page, context } = await buy()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const copy = async (what: string): Promise<unknown> => {
      await page.getByRole('button', { name: `Copy: ${what}` }).click()
      await page.getByText('Copied').waitFor()
      await page.getByText('Copied').waitFor({ state: 'hidden' })
      return page.evaluate('navigator.clipboard.readText()')
    }
    const rows = await rowsOf(page)
    const lines = Object.entries(rows).map(([label, value]) => `${label}: ${value}`)
    expect(await copy('Receipt')).toBe(lines.join('\n'))
    expect(await copy('Transaction hash')).toBe(rows['Transaction hash'])
    await page.getByText('Details').click()
    expect(await copy('Paid to')).toBe(world.devnet.merchant.address)
  })

  it('is printed alone, on one page, dark on white also in dark mode', async () => {
    const { page } = await buy({ colorScheme: 'dark' })
    await page.evaluate('window.print = () => {}')
    await page.getByRole('button', { name: 'Print' }).click()
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    expect(await page.locator('.receipt dl').isVisible()).toBe(true)
    await page.getByRole('heading', { name: 'Receipt · The Daily Example' }).waitFor()
    expect(await page.locator('pre').isVisible()).toBe(false)
    expect(await page.getByRole('button').count()).toBe(0)
    // The hash of the transaction is all that is left of links.
    expect(await page.locator('a:visible').allTextContents()).toEqual([
      (await rowsOf(page))['Transaction hash'],
    ])
    const colours = await page.evaluate(`['main', '.receipt dd'].map((name) => {
      const { color, backgroundColor } = getComputedStyle(document.querySelector(name))
      return [color, backgroundColor]
    })`)
    expect(colours).toEqual([
      ['rgb(23, 25, 28)', 'rgb(255, 255, 255)'],
      ['rgb(23, 25, 28)', 'rgba(0, 0, 0, 0)'],
    ])
    expect(pagesOf(await page.pdf())).toBe(1)
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`)
    expect(await page.locator('pre').isVisible()).toBe(true)
  })

  it('is there for HTML too, at the URL of the page that was bought', async () => {
    const { page } = await openBuyer(world, browser, {
      ...{ width: 360, height: 640, isPhone: true, colorScheme: 'dark' },
    })
    await page.goto(`${world.url}/buy/article`)
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('written by its own script').waitFor()
    // A seller links to it by the page's own URL.
    await page.evaluate(`{
      const link = document.createElement('a')
      Object.assign(link, { href: '', textContent: 'Receipt' })
      document.body.append(link)
    }`)
    await page.getByRole('link', { name: 'Receipt' }).click()
    await openReceipt(page)
    expect(await findViolations(page)).toEqual([])
    expect(await rowsOf(page)).toMatchObject({
      Item: 'A thing to buy',
      'Transaction hash': expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
  })
})

/** The number of pages of a PDF by Chromium. */
const pagesOf = (pdf: Buffer): number => pdf.toString('latin1').split('/Type /Page\n').length - 1

type RecordKey = Parameters<typeof recordId>[0]

interface SignedMessage {
  readonly from: string
  readonly nonce: string
}

interface RowElement {
  querySelector(selector: string): { readonly textContent: string | null } | null
}
