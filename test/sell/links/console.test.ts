/** Payment links in the console: made by a merchant, read by a camera, paid by a program. */
import { expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { payingFetch } from '../../../example-app/buy.js'
import { findViolations, openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { refund } from '../../support/refund.js'
import { until } from '../../support/until.js'
import { scanQrCode } from '../../support/scan-qr-code.js'
import { signIn, visit } from '../../pages/console/browser.js'
import { ADMIN_TOKEN, CONFIGURED, openWorld, SHOP_TOKEN } from '../../pages/console/world.js'
import { useOpened } from '../../support/use-opened.js'

const browser = useBrowser()
const world = useOpened(openWorld)

const field = (page: Page, name: string) => page.getByLabel(name, { exact: true })
const dialog = (page: Page) => page.getByRole('dialog')
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

async function open(token: string, width = 1280) {
  const tab = await openTab(browser, { width, expected: /status of (400|401|409) / })
  await signIn(tab.page, world.console, token)
  return tab
}

/** Pays back a part of what the newest payment was. */
async function refundPart(): Promise<void> {
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const init = { method, ...(body && { body: JSON.stringify(body) }) }
    const response = await world.api(`merchant/${path}`, SHOP_TOKEN, init)
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as T
  }
  const { settlements } = await ask<{ settlements: { id: string }[] }>('GET', 'settlements')
  const { privateKey } = world.devnet.merchant
  const path = `settlements/${settlements[0]!.id}/refunds`
  await refund(ask, { path, privateKey, amount: 100_000n })
}

withBrowser('payment links in the console', () => {
  it('are made by a merchant, and the QR code leads to the page that is paid', async () => {
    const { page, complaints } = await open(SHOP_TOKEN)
    await visit(page, ['#/links', 'Payment links'])
    await page.getByText('No payment links yet').waitFor()
    await button(page, 'New payment link').click()
    await field(page, 'Price').fill('0.5.0')
    await button(page, 'Create link').click()
    await page.locator('.field-bad .field-error').waitFor()
    expect(await field(page, 'Price').getAttribute('aria-invalid')).toBe('true')
    await field(page, 'Price').fill('0.25')
    await field(page, 'Description').fill('Two books')
    await field(page, 'Reference').fill('order-7')
    await button(page, 'Create link').click()
    const url = (await dialog(page).locator('.copyable code').textContent()) ?? ''
    expect(url).toMatch(new RegExp(`^${world.url}/pay/pay/co_[0-9a-f]{32}$`))
    const code = dialog(page).getByRole('img', { name: 'QR code of the payment link' })
    expect(await scanQrCode(browser, code)).toBe(url)
    expect(await findViolations(page)).toEqual([])
    await button(page, 'Done').click()

    expect((await payingFetch(world.devnet.payers[0]!.privateKey)(url)).status).toBe(200)
    await page.reload()
    const row = page.getByRole('row').filter({ hasText: 'order-7' })
    await row.getByText('paid').waitFor()
    await field(page, 'Status').selectOption('Expired')
    await page.getByText('No results').waitFor()
    await field(page, 'Status').selectOption('Paid')
    // It is found by its status once that is written down.
    await until(async () => {
      await page.reload()
      await page.locator('table, .empty').first().waitFor()
      return (await row.count()) === 1
    })
    await row.getByText('paid').waitFor()
    const show = row.getByRole('button', { name: 'Show the link for Two books' })
    await show.click()
    await dialog(page).locator('.badge', { hasText: 'paid' }).waitFor()
    await button(page, 'Done').click()
    await refundPart()
    await show.click()
    await dialog(page).getByText('partially refunded').waitFor()
    await dialog(page).getByText('0.10 USDC').waitFor()
    expect(await findViolations(page)).toEqual([])
    await dialog(page).getByRole('link', { name: 'View settlement' }).click()
    await page.getByRole('heading', { level: 1, name: 'Settlement' }).waitFor()
    await page.getByText('order-7').first().waitFor()
    expect(complaints).toEqual([])
  })

  it('are canceled by an operator, who finds them at the merchant, also on a phone', async () => {
    const body = JSON.stringify({ amount: '1', currency: 'USD', description: 'A pen' })
    const created = await world.api('merchant/checkouts', SHOP_TOKEN, { method: 'POST', body })
    const { id } = (await created.json()) as { id: string }
    const { page, complaints } = await open(ADMIN_TOKEN, 360)
    await visit(page, [`#/merchants/${CONFIGURED}`, CONFIGURED])
    await page.getByRole('link', { name: 'Payment links', exact: true }).click()
    await page.getByRole('button', { name: 'Show the link for A pen' }).click()
    const isWider = 'document.documentElement.scrollWidth > innerWidth'
    expect(await page.evaluate(isWider)).toBe(false)
    expect(await findViolations(page)).toEqual([])
    await button(page, 'Cancel the link').click()
    await dialog(page).getByText('canceled').waitFor()
    await button(page, 'Done').click()
    await page.getByRole('row').filter({ hasText: 'A pen' }).getByText('canceled').waitFor()
    const shown = await world.api(`merchant/checkouts/${id}`, SHOP_TOKEN)
    expect(await shown.json()).toMatchObject({ status: 'canceled' })
    expect(complaints).toEqual([])
  })
})
