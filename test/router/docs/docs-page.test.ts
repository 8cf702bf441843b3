/** The documentation page, in a real browser, with a wallet that pays on a real chain. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import {
  findChromium,
  findViolations,
  launch,
  openTab,
  PATIENCE_MS,
  type Tab,
} from '../../support/browser.js'
import { addWallet, type TestWallet } from '../../support/browser-wallet.js'
import { ADMIN_TOKEN, openWorld, SHOP_TOKEN, type World } from '../../console/page/world.js'

const executable = findChromium()
const suite = executable === undefined ? describe.skip : describe

/** What a stranger writes. */
const EVIL = `https://shop.example/<img src=x onerror="window.pwned=1">`

let world: World
let browser: Browser
let docs = ''

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const field = (page: Page, name: string) => page.getByLabel(name, { exact: true })

async function open(page: Page, operation = ''): Promise<void> {
  await page.goto(`${docs}#${operation}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('navigation').waitFor()
}

/** Goes to another operation, without loading the page again. */
async function choose(page: Page, id: string, heading: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(id)}`)
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
}

/** Sends what the form has. @returns The status and the document. */
async function send(page: Page) {
  await button(page, 'Send').click()
  await button(page, 'Stop').waitFor({ state: 'detached' })
  const status = await page.locator('.answer .status').textContent()
  const text = await page.getByLabel('The body of the answer').textContent()
  return { status: Number(status), body: JSON.parse(text ?? '') as Record<string, unknown> }
}

suite('the documentation page', () => {
  let tab: Tab
  let wallet: TestWallet
  const hosts = new Set<string>()

  beforeAll(async () => {
    world = await openWorld()
    docs = `${world.url}/pay/api/v2/docs/`
    browser = await launch(executable!)
    tab = await openTab(browser, { expected: /status of (401|404) / })
    tab.page.on('request', (request) => hosts.add(new URL(request.url()).origin))
    wallet = await addWallet(tab.page, world.devnet.payers[0]!)
  }, 4 * PATIENCE_MS)

  afterAll(async () => {
    await browser?.close()
    await world?.close()
  })

  it('is found without its slash, is kept by its tag, and runs nothing that is not its own', async () => {
    const redirect = await fetch(docs.replace(/\/$/, ''), { redirect: 'manual' })
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, './docs/'])
    const page = await fetch(docs)
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toContain('unsafe')
    const known = { headers: { 'If-None-Match': page.headers.get('etag') ?? '' } }
    expect((await fetch(docs, known)).status).toBe(304)
    const [script = ''] = /\.\/assets\/docs-[^"]+\.js/.exec(await page.text()) ?? []
    const asset = await fetch(new URL(script, docs))
    expect(asset.headers.get('cache-control')).toContain('immutable')
    expect((await fetch(new URL('./assets/..%2findex.html', docs))).status).toBe(404)
  })

  it('lists the operations, and finds one by its path', async () => {
    const { page } = tab
    await open(page)
    expect(await page.getByRole('navigation').getByRole('listitem').count()).toBeGreaterThan(50)
    await field(page, 'Filter').fill('checkout-prepare')
    expect(await page.getByRole('navigation').getByRole('listitem').count()).toBe(1)
    await page.getByRole('link', { name: /Turn a fiat price/ }).click()
    await page.getByText('/api/v2/merchant/checkout-prepare').first().waitFor()
    expect(await page.title()).toContain('Turn a fiat price')
  })

  it('sends a request without a token, and shows why it is refused', async () => {
    const { page } = tab
    await open(page, 'getPaymentRequirements')
    expect(await send(page)).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
  })

  it('sends one with a token, and shows what strangers wrote as text', async () => {
    const { page } = tab
    await field(page, 'Project token').fill(SHOP_TOKEN)
    const body = { resourceUrl: EVIL, requestedAmount: 0.01 }
    await field(page, 'Body').fill(JSON.stringify(body))
    const answer = await send(page)
    expect(answer).toMatchObject({ status: 200, body: { resource: { url: EVIL } } })
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    await page.getByText('As a command').click()
    const command = (await page.getByLabel('The request as a command').textContent()) ?? ''
    expect(command).toContain('curl -X POST')
    expect(command).not.toContain(SHOP_TOKEN)
  })

  it('verifies and settles a payment that a wallet has signed', async () => {
    const { page } = tab
    const before = await world.earned()
    await choose(page, 'verifyPayment', 'Verify a payment without settling it')
    await button(page, 'Sign a payment with Test Wallet').click()
    await page.getByText('The body is a payment of 0.01 now.').waitFor()
    expect(wallet.asked).toContain('eth_signTypedData_v4')
    expect(await send(page)).toMatchObject({ status: 200, body: { isValid: true } })
    const signed = await field(page, 'Body').inputValue()
    await choose(page, 'settlePayment', 'Settle a payment on chain')
    await field(page, 'Body').fill(signed)
    expect(await send(page)).toMatchObject({ status: 200, body: { success: true } })
    expect((await world.earned()) - before).toBe(10_000n)
    // The same payment is not paid twice.
    expect(await send(page)).toMatchObject({ status: 200, body: { success: false } })
    expect((await world.earned()) - before).toBe(10_000n)
  })

  it('signs nothing where the wallet’s owner declines', async () => {
    const { page } = tab
    wallet.behaviour = 'decline'
    await choose(page, 'verifyPayment', 'Verify a payment without settling it')
    await button(page, 'Sign a payment with Test Wallet').click()
    await page.getByText('Nothing was signed: User rejected the request.').waitFor()
    expect(await send(page)).toMatchObject({ body: { isValid: false } })
  })

  it('fills parameters into path, query and headers', async () => {
    const { page } = tab
    await choose(page, 'adminListSettlements', 'List settlements')
    await field(page, 'Admin token').fill(ADMIN_TOKEN)
    await field(page, 'limit query').fill('1')
    const list = await send(page)
    expect(list.body['settlements']).toHaveLength(1)
    const [{ id } = { id: '' }] = list.body['settlements'] as { id: string }[]
    await choose(page, 'adminGetSettlement', 'Get a settlement')
    await field(page, 'id path').fill(id)
    expect(await send(page)).toMatchObject({ status: 200, body: { id, status: 'settled' } })
    await choose(page, 'adminListRefunds', 'List the refunds of a settlement')
    await field(page, 'id path').fill('../projects')
    expect(await send(page)).toMatchObject({ status: 404 })
  })

  it('shows events as they come, until it is told to stop', async () => {
    const { page } = tab
    await choose(page, 'streamSettlements', 'Watch payments as they happen')
    await button(page, 'Send').click()
    await page.getByText('still open').waitFor()
    await world.buy('/any/event', world.devnet.payers[1]!)
    await page.getByText('event: settlement').waitFor()
    await button(page, 'Stop').click()
    await button(page, 'Stop').waitFor({ state: 'detached' })
    expect(await page.getByText('still open').count()).toBe(0)
  })

  it('is used with the keyboard alone', async () => {
    const { page } = tab
    await open(page, 'getPaymentProfile')
    const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent')
    await page.evaluate('document.body.tabIndex = -1; document.body.focus()')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Skip to content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('content')
    await field(page, 'Project token').focus()
    await page.keyboard.press('Control+A')
    await page.keyboard.type(SHOP_TOKEN)
    await page.keyboard.press('Enter')
    await page.locator('.answer .status').getByText('200').waitFor()
  })

  it.each([
    ['light', 1280],
    ['light', 360],
    ['dark', 1280],
    ['dark', 360],
  ] as const)(
    'has no violation that axe finds, %s and %i pixels wide',
    async (colorScheme, width) => {
      const { page, context, complaints } = await openTab(browser, { colorScheme, width })
      for (const operation of ['', 'settlePayment', 'adminListSettlements', 'createWebhook']) {
        await open(page, operation)
        await page.evaluate(
          `document.querySelectorAll('main details').forEach((one) => (one.open = true))`,
        )
        expect(await findViolations(page)).toEqual([])
        const overflow =
          'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        expect(await page.evaluate(overflow)).toBeLessThanOrEqual(0)
      }
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  it('says so where the gateway does not answer', async () => {
    const { page, context } = await openTab(browser)
    await page.route('**/openapi.json', (route) => route.abort())
    await page.goto(docs)
    await page.getByRole('heading', { name: 'The API could not be loaded' }).waitFor()
    expect(await page.getByRole('alert').textContent()).toContain('Reload this page')
    await context.close()
  })

  it('keeps no token, asks nobody else, and complains of nothing', async () => {
    const { page, complaints } = tab
    expect(
      await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'),
    ).toBe('[{},{}]')
    await page.reload()
    await open(page, 'getPaymentProfile')
    expect(await field(page, 'Project token').inputValue()).toBe('')
    expect([...hosts]).toEqual([world.url])
    expect(complaints).toEqual([])
  })
})
