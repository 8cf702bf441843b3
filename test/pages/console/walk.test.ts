/** What an operator and a merchant do in the console, in a real browser, from the first sign-in on. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { startReceiver, type Receiver } from '../../operate/webhooks/receiver.js'
import { until } from '../../support/until.js'
import { openTab, type Tab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { signIn, visit } from './browser.js'
import { addWallet, type TestWallet } from '../../support/browser-wallet.js'
import { ADMIN_TOKEN, CREATED, openWorld, SHOP_TOKEN } from './world.js'
import { useOpened } from '../../support/use-opened.js'
import { useCleanup } from '../../support/cleanup.js'
import { readCsv } from '../../support/read-csv.js'

const toEnd = useCleanup(afterAll)

/** What the refunds of the walk move back. */
const PAID_BACK = 250_000n

const browser = useBrowser()
const world = useOpened(openWorld)
let operator: Tab
let wallet: TestWallet
let receiver: Receiver
/** What the console shows once. */
let token = ''
let webhookSecret = ''

const field = (page: Page, name: string) => page.getByLabel(name, { exact: true })
const dialog = (page: Page) => page.getByRole('dialog')
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** The secret in the open dialog. */
const shownOnce = async (page: Page): Promise<string> =>
  (await dialog(page).locator('.copyable code').textContent()) ?? ''

let hasFailed = false

/** A step of the walk. Those after one that has failed are not tried: they would wait for what never comes. */
function step(name: string, act: () => Promise<void>): void {
  const run = async (): Promise<void> => {
    if (hasFailed) throw new Error('An earlier step has failed.')
    hasFailed = true
    await act()
    hasFailed = false
  }
  // oxlint-disable-next-line jest/valid-title, jest/expect-expect -- the steps have titles and assertions
  it(name, run)
}

withBrowser('the console', () => {
  beforeAll(async () => {
    receiver = await startReceiver(toEnd)
    operator = await openTab(browser, {
      expected: /status of (400|401) /,
      timeZone: 'Pacific/Auckland',
    })
    wallet = await addWallet(operator.page, world.devnet.merchant)
  })

  step('lets an operator sign in, and shows an empty overview', async () => {
    const { page } = operator
    await signIn(page, world.console, ADMIN_TOKEN)
    await page.getByText('No settled payments in this period.').first().waitFor()
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  step('says beside each field what is wrong with a merchant', async () => {
    const { page } = operator
    await visit(page, ['#/merchants', 'Merchants'])
    await page.getByText('configured', { exact: true }).waitFor()
    await button(page, 'New merchant').click()
    await field(page, 'Id').fill(CREATED)
    await field(page, 'Paid to').fill('0x12')
    await button(page, 'Create merchant').click()
    // The first field that is wrong has the focus.
    await page.locator('input[aria-invalid="true"]:focus').waitFor()
    expect(await field(page, 'Paid to').getAttribute('aria-invalid')).toBe('true')
    expect(await page.locator('.field-bad .field-error').textContent()).toContain(
      '0x and 40 hexadecimal digits',
    )
  })

  step('creates the merchant once it is right', async () => {
    const { page } = operator
    await field(page, 'Paid to').fill(world.devnet.merchant.address)
    await field(page, 'Name').fill('Acme reports')
    expect(await field(page, 'USDC on Base Sepolia').isChecked()).toBe(true)
    await field(page, 'All tokens of the gateway, also later ones').uncheck()
    await button(page, 'Create merchant').click()
    await page.getByRole('heading', { level: 1, name: CREATED }).waitFor()
    await page
      .getByText('USDC on base-sepolia')
      .or(page.getByText('USDC on eip155:84532'))
      .waitFor()
  })

  step('shows a new token once', async () => {
    const { page } = operator
    await button(page, 'New token').click()
    await field(page, 'Label').fill('Shop server')
    await button(page, 'Create token').click()
    await button(page, 'Done').waitFor()
    token = await shownOnce(page)
    await button(page, 'Done').click()
    await page.getByText('Shop server').waitFor()
    expect(await page.getByText(token).count()).toBe(0)
    expect((await world.api('merchant/settlements', token)).status).toBe(200)
  })

  step('adds a webhook, whose secret verifies what it is sent', async () => {
    const { page } = operator
    await button(page, 'New webhook').click()
    await field(page, 'URL').fill(receiver.url)
    await button(page, 'Add webhook').click()
    await button(page, 'Done').waitFor()
    webhookSecret = await shownOnce(page)
    await button(page, 'Done').click()
    await page.getByRole('link', { name: receiver.url }).click()
    await button(page, 'Send a test').click()
    await page.locator('.badge').getByText('delivered').waitFor()
    expect(receiver.received.map(({ type }) => type)).toEqual(['webhook.test'])
    receiver.verify(receiver.received[0]!, webhookSecret)
  })

  step('shows a payment as it happens, bought by the official client', async () => {
    const { page } = operator
    await visit(page, ['#/settlements', 'Settlements'])
    await page.getByText('No payments yet').waitFor()
    const response = await world.buy('/report/7', world.devnet.payers[0]!)
    expect(response.status).toBe(200)
    const row = page.getByRole('row').filter({ hasText: 'order-7' })
    await row.getByText('settled').waitFor()
    expect(await row.textContent()).toContain('0.25 USDC')
    expect(await row.textContent()).toContain('$0.25')
  })

  step('tells the story of the payment', async () => {
    const { page } = operator
    await page.getByRole('row').filter({ hasText: 'order-7' }).getByRole('link').first().click()
    await page.getByRole('heading', { level: 1, name: 'Settlement' }).waitFor()
    await page.getByText('Payment settled').waitFor()
    await page.getByText('GET /report/:id').waitFor()
    const links = await page
      .locator('main a[target="_blank"]')
      .evaluateAll<string[], HTMLAnchor>((all) => all.map((link) => `${link.rel} ${link.href}`))
    expect(links).toContainEqual(
      expect.stringMatching(
        /^noopener noreferrer https:\/\/sepolia\.basescan\.org\/tx\/0x[0-9a-f]{64}$/,
      ),
    )
  })

  step('says what is wrong with a refund before anything is signed', async () => {
    const { page } = operator
    await field(page, 'Amount in USDC').fill('0.2500001')
    await page.getByText('at most 6 digits after the point').waitFor()
    await field(page, 'Amount in USDC').fill('1')
    await page.getByText('Only 0.25 USDC is left to refund.').waitFor()
    await field(page, 'Amount in USDC').fill('0.1')
    wallet.behaviour = 'decline'
    await button(page, 'Refund with Test Wallet').click()
    await page.getByText('You declined in the wallet. Nothing was sent.').waitFor()
    wallet.behaviour = 'sign'
  })

  step('pays back by the merchant’s wallet, in part and then all', async () => {
    const { page } = operator
    const before = await world.earned()
    await button(page, 'Refund with Test Wallet').click()
    await page.getByText('At most 0.15 USDC').waitFor()
    expect(await world.earned()).toBe(before - 100_000n)
    expect(wallet.asked).toContain('wallet_switchEthereumChain')
    await field(page, 'Reason').fill('Nobody liked it.')
    await button(page, 'Refund with Test Wallet').click()
    await page.getByText('This payment was fully refunded.').waitFor()
    expect(await world.earned()).toBe(before - PAID_BACK)
  })

  step('has told the webhook of the payment and its refunds', async () => {
    const types = () => receiver.received.map(({ type }) => type)
    await until(() => types().filter((type) => type === 'refund.settled').length === 2)
    expect(types()).toContain('payment.settled')
    for (const one of receiver.received) receiver.verify(one, webhookSecret)
  })

  step('finds settlements by what one pastes', async () => {
    const { page } = operator
    await world.buy('/any/page?reference=another', world.devnet.payers[1]!)
    await visit(page, ['#/settlements', 'Settlements'])
    await page.getByRole('row').filter({ hasText: 'another' }).waitFor()
    await field(page, 'Search').fill(world.devnet.payers[0]!.address)
    await page.getByText('Searches by payer').waitFor()
    await button(page, 'Search').click()
    await until(async () => (await page.getByText('another').count()) === 0)
    expect(await page.getByRole('row').filter({ hasText: 'order-7' }).count()).toBe(1)
    const { address } = world.devnet.payers[0]!
    for (const begin of [
      `${address.slice(0, 6)}…${address.slice(-4)}`,
      address.slice(0, 6),
      'order-',
    ]) {
      await field(page, 'Search').fill(begin)
      await button(page, 'Search').click()
      await page.getByRole('row').filter({ hasText: 'order-7' }).waitFor()
      await until(async () => (await page.getByText('another').count()) === 0)
    }
    await field(page, 'Amount from').fill('1000')
    await button(page, 'Search').click()
    await page.getByText('No results').waitFor()
    await field(page, 'Amount from').fill('')
    await field(page, 'Search').fill('no such reference')
    await button(page, 'Search').click()
    await page.getByText('No results').waitFor()
  })

  step('downloads CSV whose sums are what the chain has moved', async () => {
    const { page } = operator
    await visit(page, ['#/settlements', 'Settlements'])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download CSV' }).click(),
    ])
    const rows = readCsv(await readFile(await download.path(), 'utf8'))
    const micros = (decimal = ''): number => Math.round(Number(decimal) * 1e6)
    const sum = rows.reduce((total, { net }) => total + micros(net), 0)
    expect(BigInt(sum)).toBe(await world.earned())
    const kinds = rows.map(({ type, reference, refunded }) => [type, reference, micros(refunded)])
    expect(kinds).toEqual([
      ['payment', 'another', 0],
      ['refund', 'order-7', 0],
      ['refund', 'order-7', 0],
      ['payment', 'order-7', Number(PAID_BACK)],
    ])
    expect(rows[1]).toMatchObject({ refundReason: 'Nobody liked it.', testnet: 'true' })
  })

  step('sums the same on the overview', async () => {
    const { page } = operator
    await visit(page, ['#/overview', 'Overview'])
    // Sums are kept for five seconds: the first may be from before the last purchase.
    await until(async () => {
      await page.reload()
      await page.locator('.headline').waitFor()
      return (await page.locator('.headline').getByText('0.26 USDC paid').count()) > 0
    })
    const headline = (await page.locator('.headline').textContent()) ?? ''
    expect(headline).toContain('0.01 USDC Test')
    expect(headline).toContain('0.26 USDC paid, 0.25 USDC refunded')
    await page.getByText('Revenue by day as a table').click()
    const row = page.getByRole('table', { name: 'Revenue by day' }).getByRole('row').last()
    expect(await row.textContent()).toMatch(/0\.26 USDC.*0\.25 USDC.*0\.01 USDC/)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download CSV' }).click(),
    ])
    const sums = readCsv(await readFile(await download.path(), 'utf8'))
    expect(sums).toMatchObject([
      { project: 'shop', merchantName: 'Configured shop', count: '1', net: '0.01' },
      { project: CREATED, merchantName: 'Acme reports', count: '1', net: '0', netBefore: '0' },
    ])
    await page
      .getByRole('row')
      .filter({ hasText: 'Acme reports' })
      .getByRole('link', { name: '1' })
      .click()
    await page.getByRole('heading', { level: 1, name: 'Settlements' }).waitFor()
    await page.getByRole('row').filter({ hasText: 'order-7' }).waitFor()
    expect(await page.getByText('another').count()).toBe(0)
  })

  step('lists refunds with their reasons', async () => {
    const { page } = operator
    await visit(page, ['#/refunds', 'Refunds'])
    const row = page.getByRole('row').filter({ hasText: 'Nobody liked it.' })
    expect(await row.textContent()).toMatch(/settled.*0\.15 USDC.*by admin-.*order-7.*Base Sepolia/)
    await row.getByRole('link').first().click()
    await page.locator('.lead').getByText('refunded').waitFor()
  })

  step('shows another zone, and filters by its days', async () => {
    const { page } = operator
    await visit(page, ['#/settlements', 'Settlements'])
    const [zone] = await page.getByLabel('Times in').locator('option').allTextContents()
    expect(zone).toBe('Pacific/Auckland')
    const dayIn = (timeZone: string): string =>
      new Intl.DateTimeFormat('en-CA', { timeZone }).format(Date.now())
    for (const timeZone of ['UTC', 'Pacific/Auckland']) {
      await page.getByLabel('Times in').selectOption(timeZone)
      const day = dayIn(timeZone)
      await visit(page, [`#/settlements?from=${day}&to=${day}`, 'Settlements'])
      await page.getByRole('row').filter({ hasText: 'another' }).waitFor()
      const shown = await page.locator('td time').first().getAttribute('title')
      const expected = new Intl.DateTimeFormat('en', { timeZone, day: 'numeric' }).format()
      expect(shown).toContain(` ${expected},`)
    }
  })

  step('edits the merchant, and the audit log has it', async () => {
    const { page } = operator
    await visit(page, [`#/merchants/${CREATED}`, CREATED])
    await button(page, 'Edit').click()
    await field(page, 'Name').fill('Acme & Sons')
    await button(page, 'Save').click()
    await page.getByText('Acme & Sons').first().waitFor()
    await visit(page, ['#/audit', 'Audit log'])
    const row = page.getByRole('row').filter({ hasText: 'Merchant updated' })
    expect(await row.textContent()).toContain('name Acme reports Acme & Sons')
  })

  step('adds a webhook of the operator’s own', async () => {
    const { page } = operator
    const own = await startReceiver(toEnd)
    await visit(page, ['#/webhooks', 'Webhooks'])
    await button(page, 'New webhook').click()
    await field(page, 'URL').fill(own.url)
    await page.getByRole('checkbox', { name: 'relayer.low' }).waitFor()
    expect(await page.getByRole('checkbox', { name: 'payment.settled' }).count()).toBe(0)
    await button(page, 'Add webhook').click()
    await button(page, 'Done').waitFor()
    const secret = await shownOnce(page)
    await button(page, 'Done').click()
    await page.getByRole('link', { name: own.url }).click()
    await page.getByText('relayer.low').waitFor()
    await button(page, 'Send a test').click()
    await page.locator('.badge').getByText('delivered').waitFor()
    own.verify(own.received[0]!, secret)
  })

  step('shows a merchant its own payments only', async () => {
    const { page, complaints } = await openTab(browser, { expected: /\b40[134]\b/ })
    await signIn(page, world.console, token)
    await visit(page, ['#/settlements', 'Settlements'])
    await page.getByRole('row').filter({ hasText: 'order-7' }).waitFor()
    expect(await page.getByText('another').count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Merchants' }).count()).toBe(0)
    await visit(page, ['#/merchants', 'Page not found'])
    const foreign = await world.api('merchant/settlements', SHOP_TOKEN)
    const { settlements } = (await foreign.json()) as { settlements: { id: string }[] }
    await page.evaluate(`location.hash = '#/settlements/${settlements[0]!.id}'`)
    await page.getByText('This project has no settlement of that id.').waitFor()
    await visit(page, ['#/webhooks', 'Webhooks'])
    await page.getByRole('link', { name: receiver.url }).waitFor()
    expect(complaints).toEqual([])
  })

  step('rotates the token without a gap, and signs out who used the old one', async () => {
    const merchant = await openTab(browser, { expected: /\b401\b/ })
    await signIn(merchant.page, world.console, token)
    const { page } = operator
    await visit(page, [`#/merchants/${CREATED}`, CREATED])
    await page.getByRole('button', { name: /^Rotate/ }).click()
    await button(page, 'Create token').click()
    await button(page, 'Revoke the old token').waitFor()
    const fresh = await shownOnce(page)
    const status = async (one: string) => (await world.api('merchant/settlements', one)).status
    expect([await status(token), await status(fresh)]).toEqual([200, 200])
    await button(page, 'Revoke the old token').click()
    await page.locator('.badge').getByText('revoked').waitFor()
    expect([await status(token), await status(fresh)]).toEqual([401, 200])
    await merchant.page.evaluate(`location.hash = '#/settlements'`)
    await merchant.page.getByText('Your session has ended.').waitFor()
    await merchant.context.close()
  })

  step('deletes a merchant after asking', async () => {
    const { page } = operator
    await button(page, 'Delete…').click()
    await button(page, 'Cancel').click()
    await button(page, 'Delete…').click()
    await button(page, 'Delete merchant').click()
    await page.getByRole('heading', { level: 1, name: 'Merchants' }).waitFor()
    await until(async () => (await page.getByRole('link', { name: CREATED }).count()) === 0)
  })

  step('forgets the session when the operator signs out', async () => {
    const { page } = operator
    await button(page, 'Sign out').click()
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor()
  })

  it('caused no error in the browser and no violation of the policy', () => {
    expect(operator.complaints).toEqual([])
  })
})

interface HTMLAnchor {
  readonly rel: string
  readonly href: string
}
