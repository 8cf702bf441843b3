/** The documentation page, in a real browser: the viewer opens our document, and sends requests to our gateway. */
import { beforeAll, expect, it } from '@jest/globals'
import express from 'express'
import type { Locator, Page } from 'playwright-core'
import { createGateway } from '../../../src/gateway/gateway.js'
import { ADMIN_TOKEN, openWorld, SHOP_TOKEN } from '../../pages/console/world.js'
import { findViolations, openTab, type Tab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { listen } from '../../support/http.js'
import { wholeDocument } from '../../support/openapi-validator.js'
import { useOpened } from '../../support/use-opened.js'

/** What a stranger writes. */
const EVIL = `https://shop.example/<img src=x onerror="window.pwned=1">`

const browser = useBrowser()
const world = useOpened(openWorld)
let docs = ''

const button = (page: Page | Locator, name: string) =>
  page.getByRole('button', { name, exact: true })
const field = (page: Page, name: string) => page.getByLabel(name, { exact: true })

const { paths, webhooks = {} } = await wholeDocument()

/** Goes to an operation, as a link does. */
async function choose(page: Page, method: string, path: string): Promise<void> {
  const { summary = '' } = (paths[path]?.[method] ?? {}) as { readonly summary?: string }
  await page.evaluate(`location.hash = '${method}-${path.replaceAll(/[{}]/g, '-')}'`)
  await page.getByRole('heading', { name: summary, exact: true }).waitFor()
  await page.getByText(path, { exact: true }).first().waitFor()
}

async function open(page: Page, url = docs): Promise<void> {
  await page.goto(url)
  await page.getByRole('link', { name: 'Authentication' }).waitFor()
}

async function setToken(page: Page, scheme: string, token: string): Promise<void> {
  await page.getByRole('link', { name: 'Authentication' }).click()
  await field(page, scheme).fill(token)
  const row = page.locator('tr').filter({ has: field(page, scheme) })
  await button(row, 'SET').click()
  await page.getByText('Key Applied').first().waitFor()
}

/** Sends what the form has. @returns The response, and the text that the page shows of it. */
async function send(page: Page) {
  const received = page.waitForResponse((one) => one.request().resourceType() === 'fetch')
  await button(page, 'TRY').click()
  const response = await received
  await page.getByText(/Took \d+ milliseconds/).waitFor()
  const shown = page.locator('.tab-content:visible pre').last()
  return { status: response.status(), url: response.url(), text: (await shown.textContent()) ?? '' }
}

withBrowser('the documentation page', () => {
  let tab: Tab
  const hosts = new Set<string>()

  beforeAll(async () => {
    docs = `${world.url}/pay/api/v2/docs/`
    tab = await openTab(browser, { expected: /status of 401 / })
    tab.page.on('request', (request) => hosts.add(new URL(request.url()).origin))
    await open(tab.page)
  })

  it('redirects to its slash, answers 304 to its ETag, and allows only its own scripts', async () => {
    const redirect = await fetch(docs.replace(/\/$/, ''), { redirect: 'manual' })
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, './docs/'])
    const page = await fetch(docs)
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inl")
    expect(policy.match(/unsafe/g)).toHaveLength(1)
    const console = await fetch(world.console)
    expect(console.headers.get('content-security-policy')).not.toContain('unsafe')
    const known = { headers: { 'If-None-Match': page.headers.get('etag') ?? '' } }
    expect((await fetch(docs, known)).status).toBe(304)
    const scripts = [...(await page.text()).matchAll(/src="(\.\/assets\/[^"]+\.js)"/g)]
    expect(scripts).toHaveLength(2)
    for (const [, script = ''] of scripts) {
      const asset = await fetch(new URL(script, docs))
      expect(asset.headers.get('cache-control')).toContain('immutable')
    }
    expect((await fetch(new URL('./assets/..%2findex.html', docs))).status).toBe(404)
  })

  it('lists every operation and webhook, and finds one by its path', async () => {
    const { page } = tab
    const items = page.locator('.nav-bar-path')
    const described = Object.entries(paths).filter(([path]) => !path.endsWith('z'))
    const operations = described.flatMap(([, item]) => Object.keys(item))
    expect(await items.count()).toBe(operations.length + Object.keys(webhooks as object).length)
    await field(page, 'Filter').fill('checkout-prepare')
    await field(page, 'Filter').press('Enter')
    await page.getByRole('link', { name: /^Turn a fiat price/ }).click()
    await page.getByText('/api/v2/merchant/checkout-prepare').first().waitFor()
    expect(await items.count()).toBe(1)
    await button(page, 'CLEAR').first().click()
  })

  it('sends a request without a token, and shows why it is refused', async () => {
    const { page } = tab
    await choose(page, 'post', '/api/v2/payment/requirements')
    await page.getByText('curl "$GATEWAY/api/v2/payment/requirements"').waitFor()
    const { status, text } = await send(page)
    expect([status, JSON.parse(text)]).toMatchObject([401, { code: 'unauthorized' }])
  })

  it('sends one with a project’s token, and shows what strangers wrote as text', async () => {
    const { page } = tab
    await setToken(page, 'API Key (X-Project-Identify-Token)', SHOP_TOKEN)
    await choose(page, 'post', '/api/v2/payment/requirements')
    await field(page, 'Body').fill(JSON.stringify({ resourceUrl: EVIL, requestedAmount: 0.01 }))
    const { status, text } = await send(page)
    expect([status, JSON.parse(text)]).toMatchObject([200, { resource: { url: EVIL } }])
    expect(await page.evaluate('window.pwned')).toBeUndefined()
  })

  it('sends an admin’s token, and fills parameters into query and path', async () => {
    const { page } = tab
    await setToken(page, 'HTTP Bearer', ADMIN_TOKEN)
    await world.buy('/any/thing', world.devnet.payers[0]!)
    await choose(page, 'get', '/api/v2/admin/settlements')
    await button(page, 'CLEAR').click()
    await field(page, 'limit').fill('1')
    const list = await send(page)
    expect(list).toMatchObject({
      status: 200,
      url: `${world.url}/pay/api/v2/admin/settlements?limit=1`,
    })
    const { settlements } = JSON.parse(list.text) as { readonly settlements: { id: string }[] }
    const id = settlements[0]?.id ?? ''
    await choose(page, 'get', '/api/v2/admin/settlements/{id}')
    await field(page, 'id').fill(id)
    const { status, text } = await send(page)
    expect([status, JSON.parse(text)]).toMatchObject([200, { id, status: 'settled' }])
  })

  it('is used with the keyboard alone', async () => {
    const { page } = await openTab(browser)
    await open(page)
    await field(page, 'Filter').focus()
    const focused = 'document.activeElement.shadowRoot.activeElement.textContent.trim()'
    for (let tabs = 0; tabs < 60; tabs++) {
      await page.keyboard.press('Tab')
      const text: string = await page.evaluate(focused)
      if (text.endsWith('Get the payment handler for a UCP profile')) break
    }
    await page.keyboard.press('Enter')
    await page.getByText('/api/v2/merchant/payment-profile').first().waitFor()
    await button(page, 'TRY').focus()
    await page.keyboard.press('Enter')
    await page.getByText(/Took \d+ milliseconds/).waitFor()
    expect(await page.locator('.tab-content:visible pre').last().textContent()).toContain('401')
  })

  it('asks the gateway that it was loaded from, though the document names its public URL', async () => {
    const { rpcUrl, relayerKeys } = world.devnet
    const gateway = createGateway({
      networks: { 'base-sepolia': { rpcUrl, relayerKeys: [relayerKeys[1]!] } },
      projects: [{ id: 'shop', tokens: [SHOP_TOKEN] }],
      publicUrl: 'https://shop.example',
    })
    const app = express().use(gateway.healthRouter()).use('/elsewhere', gateway.gatewayRouter())
    const server = await listen(app)
    const { page, context, complaints } = await openTab(browser, { expected: /status of 50\d / })
    await open(page, `${server.url}/elsewhere/api/v2/docs/`)
    await choose(page, 'get', '/ucp/schema.json')
    expect((await send(page)).url).toBe(`${server.url}/elsewhere/ucp/schema.json`)
    await choose(page, 'get', '/livez')
    expect(await send(page)).toMatchObject({ status: 200, url: `${server.url}/livez` })
    expect(complaints).toEqual([])
    await context.close()
    await server.close()
    await gateway.close()
  })

  it.each([
    ['light', 1280],
    ['light', 360],
    ['dark', 1280],
    ['dark', 360],
  ] as const)(
    'has no violation that axe finds, %s and %i pixels wide',
    async (colorScheme, width) => {
      const expected = /status of 401 /
      const { page, complaints } = await openTab(browser, { colorScheme, width, expected })
      const check = async (): Promise<void> => {
        expect(await findViolations(page)).toEqual([])
        const overflow =
          'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        expect(await page.evaluate(overflow)).toBeLessThanOrEqual(0)
      }
      await open(page)
      await check()
      await page.getByRole('link', { name: 'Authentication' }).click()
      await field(page, 'HTTP Bearer').waitFor()
      await check()
      await choose(page, 'post', '/api/v2/payment/settle')
      await check()
      await choose(page, 'get', '/api/v2/admin/settlements')
      await button(page, 'SCHEMA').click()
      await send(page)
      await check()
      expect(complaints).toEqual([])
    },
  )

  it('says so where the gateway does not answer', async () => {
    const { page } = await openTab(browser)
    await page.route('**/openapi.json', (route) => route.abort())
    await page.goto(docs)
    const message = page.locator('#spec-not-found')
    await message.waitFor()
    expect(await message.textContent()).toMatch(/\S/)
  })

  it('keeps no token, asks nobody else, and complains of nothing', async () => {
    const { page, complaints } = tab
    expect(
      await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'),
    ).toBe('[{},{}]')
    await page.reload()
    await page.getByRole('link', { name: 'Authentication' }).click()
    await page.getByText('No API key applied').waitFor()
    expect([...hosts]).toEqual([world.url])
    expect(complaints).toEqual([])
  })
})
