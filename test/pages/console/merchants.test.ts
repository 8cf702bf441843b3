/** Many merchants, in a real browser: found, paged and chosen by keyboard alone. */
import { beforeAll, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { findViolations, openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { until } from '../../support/until.js'
import { signIn, visit } from './browser.js'
import { ADMIN_TOKEN, openWorld } from './world.js'
import { useOpened } from '../../support/use-opened.js'

/** More than two pages of 50, with the one of the configuration. */
const MERCHANTS = 120

const browser = useBrowser()
const world = useOpened(openWorld)

/** The ids in the table, from the top. */
const idsOf = (page: Page): Promise<string[]> =>
  page.locator('tbody tr td:first-child a').allTextContents()

/** Waits until the first merchant of the table is this one. */
const begins = (page: Page, id: string) => until(async () => (await idsOf(page))[0] === id)

withBrowser('the console of an operator with many merchants', () => {
  beforeAll(async () => {
    for (let index = 0; index < MERCHANTS; index++) {
      const merchant = { name: `Store ${MERCHANTS - index}`, payTo: world.devnet.merchant.address }
      const body = JSON.stringify({ id: `m-${index}`, merchant })
      await world.api('admin/projects', ADMIN_TOKEN, { method: 'POST', body })
    }
    await world.buy('/any/page?reference=of-the-shop', world.devnet.payers[0]!)
  })

  it('pages forwards and one page back, searches and sorts, by keyboard', async () => {
    const { page, complaints } = await openTab(browser, { expected: /status of 401 / })
    await signIn(page, world.console, ADMIN_TOKEN)
    await visit(page, ['#/merchants', 'Merchants'])
    await page.getByText('121 merchants').waitFor()
    await begins(page, 'm-119')
    const press = async (name: string): Promise<void> => {
      await page.getByRole('link', { name, exact: true }).focus()
      await page.keyboard.press('Enter')
    }
    expect(await page.getByRole('link', { name: 'Previous' }).count()).toBe(0)
    await press('Next')
    await begins(page, 'm-69')
    await press('Next')
    await begins(page, 'm-19')
    expect((await idsOf(page)).at(-1)).toBe('shop')
    expect(await page.getByRole('link', { name: 'Next' }).count()).toBe(0)
    await press('Previous')
    await begins(page, 'm-69')
    await press('Previous')
    await begins(page, 'm-119')

    await press('Merchant')
    await begins(page, 'm-0')
    expect((await idsOf(page)).slice(0, 3)).toEqual(['m-0', 'm-1', 'm-2'])
    await press('Merchant')
    await begins(page, 'shop')
    expect(await page.locator('th[aria-sort="descending"]').textContent()).toContain('Merchant')

    await page.getByLabel('Search', { exact: true }).fill('store 12')
    await page.keyboard.press('Enter')
    await page.getByText('2 merchants').waitFor()
    expect(await idsOf(page)).toEqual(['m-108', 'm-0'])
    await page.getByLabel('Search', { exact: true }).fill('nobody')
    await page.keyboard.press('Enter')
    await page.getByText('No results').waitFor()
    await press('Clear the search')
    await page.getByText('121 merchants').waitFor()
    expect(complaints).toEqual([])
  })

  it('filters payments by a merchant that is found by its name, by keyboard', async () => {
    const { page, complaints } = await openTab(browser, { expected: /status of 401 / })
    await signIn(page, world.console, ADMIN_TOKEN)
    await visit(page, ['#/settlements', 'Settlements'])
    await page.getByRole('row').filter({ hasText: 'of-the-shop' }).waitFor()
    const field = page.getByRole('combobox', { name: 'Merchant' })
    const suggested = (id: string) =>
      page.locator(`datalist option[value="${id}"]`).waitFor({ state: 'attached' })
    await field.pressSequentially('store 7')
    await suggested('m-113')
    // It fits several merchants.
    await page.keyboard.press('Enter')
    expect(await page.evaluate('location.hash')).toBe('#/settlements')
    let letGo = (): void => undefined
    const isLetGo = new Promise<void>((resolve) => (letGo = resolve))
    await page.route(/\/admin\/projects\?search=/, async (route) => {
      await isLetGo
      await route.continue()
    })
    await field.pressSequentially('7')
    // The suggestions are still those of an earlier text.
    await page.keyboard.press('Enter')
    expect(await page.evaluate('location.hash')).toBe('#/settlements')
    letGo()
    await until(async () => (await page.locator('datalist option').count()) === 1)
    expect(await findViolations(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByText('No results').waitFor()
    expect(await page.evaluate('location.hash')).toBe('#/settlements?project=m-43')
    expect(await field.inputValue()).toBe('m-43')
    await field.fill('')
    await page.keyboard.press('Enter')
    await page.getByRole('row').filter({ hasText: 'of-the-shop' }).waitFor()
    await field.fill('no such merchant')
    await page.getByText('No merchant found.').waitFor()
    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })
})
