/** What people of each role find in the console, and how the address that is paid is changed. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { AdminRole } from '../../../src/core/merchants/access.js'
import { findViolations, openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { serveGateway, type GatewayApi } from '../../api/api.js'
import { adminOf, CLOSED, PAY_TO, type AdminClient } from '../../api/admin/admin.js'
import { signIn, visit } from './browser.js'

const OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const tokenOf = (role: AdminRole): string => `a-token-of-the-${role}-herself`

let api: GatewayApi & AdminClient
const browser = useBrowser()
let page: Page

withBrowser('people in the console', () => {
  beforeAll(async () => {
    const people = (['owner', 'operator', 'support', 'viewer'] as const).map((role) => ({
      ...{ name: `Ada the ${role}`, role, token: tokenOf(role) },
    }))
    const served = await serveGateway({
      ...CLOSED,
      ...{ rateLimit: false, admin: { people, payToDelay: '2d' } },
    })
    api = { ...served, ...adminOf(served, tokenOf('owner')) }
    await api.ask('POST', '/projects', { id: 'acme', merchant: { payTo: PAY_TO } })
  })
  afterAll(() => api.close())

  async function enter(token: string, width = 1280): Promise<void> {
    page = (await openTab(browser, { width })).page
    await signIn(page, `${api.url}/console/`, token)
  }

  const buttons = async (): Promise<readonly string[]> =>
    (await page.locator('main button').allTextContents()).map((text) => text.trim())

  it.each([
    ['viewer', []],
    ['support', []],
    ['operator', ['Edit', 'New token', 'New webhook']],
    ['owner', ['Delete…', 'Edit', 'New token', 'New webhook']],
  ] as const)('find what the role %s may use', async (role, may) => {
    await enter(tokenOf(role))
    expect(await page.locator('.who').textContent()).toMatch(
      new RegExp(`Ada the ${role}.*${role}`, 'i'),
    )
    await visit(page, ['#/merchants/acme', 'acme'])
    const found = await buttons()
    const guarded = ['Delete…', 'Edit', 'New token', 'New webhook']
    expect(guarded.filter((name) => found.includes(name))).toEqual(may)
  })

  it('choose what a token may do; its holder finds no more in the console', async () => {
    await enter(tokenOf('operator'))
    await visit(page, ['#/merchants/acme', 'acme'])
    await page.getByRole('button', { name: 'New token' }).click()
    for (const scope of ['settle', 'refund', 'webhooks']) await page.getByLabel(scope).uncheck()
    expect(await findViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Create token' }).click()
    const token = page.locator('dialog code, dialog input[readonly]').first()
    await token.waitFor()
    const secret = (await token.textContent()) || (await token.inputValue())
    await page.context().close()
    await enter(secret)
    expect(await page.getByRole('link', { name: 'Webhooks' }).count()).toBe(0)
  })

  it('leave the public catalogue, serve version 1, and go back to the defaults', async () => {
    await enter(tokenOf('operator'), 360)
    await visit(page, ['#/merchants/acme', 'acme'])
    const save = async (listed: boolean, v1: string, shown: string) => {
      await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
      await page.getByText('Limits, rates and protocol').click()
      await page.getByLabel('List what was sold in the public catalogue').setChecked(listed)
      await page.getByLabel('Buyers of x402 version 1').selectOption(v1)
      expect(await findViolations(page)).toEqual([])
      await page.getByRole('button', { name: 'Save' }).click()
      const fact = page.locator('.facts > div', { hasText: /Public catalogue|x402 version 1/ })
      await fact.getByText(shown, { exact: true }).waitFor()
      return (await api.ask('GET', '/projects/acme')).body.merchant
    }
    expect(await save(false, 'yes', 'not listed')).toMatchObject({ listed: false, v1: true })
    expect(await save(false, 'no', 'not served')).toMatchObject({ listed: false, v1: false })
    const merchant = await save(true, '', 'Gateway default')
    for (const name of ['listed', 'v1']) expect(merchant).not.toHaveProperty(name)
  })

  it('read why the address is not theirs to change, unless they are owners', async () => {
    await enter(tokenOf('operator'))
    await visit(page, ['#/merchants/acme', 'acme'])
    await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
    expect(await page.getByLabel('Paid to', { exact: true }).isEditable()).toBe(false)
    await page.getByText('Only an owner can change it.').waitFor()
    await page.getByLabel('Currency').selectOption('EUR')
    await page.getByText('Prices in EUR are refused').waitFor()
    expect(await findViolations(page)).toEqual([])
  })

  it('are shown what somebody else has changed, and keep what they typed', async () => {
    await enter(tokenOf('operator'))
    await visit(page, ['#/merchants/acme', 'acme'])
    await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
    await page.getByLabel('Name').fill('Acme reports')
    await api.ask('PATCH', '/projects/acme', { merchant: { fxBufferBps: 50 } })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody changed this merchant.').waitFor()
    await page.getByRole('button', { name: 'Show the change' }).click()
    await page.locator('.changes').getByText('fxBufferBps 50').waitFor()
    expect(await findViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Edit', exact: true }).first().waitFor()
    const { merchant } = (await api.ask('GET', '/projects/acme')).body
    expect(merchant).toMatchObject({ name: 'Acme reports', fxBufferBps: 50 })
    await api.ask('PATCH', '/projects/acme', { paused: true })
    await api.ask('PATCH', '/projects/acme', { paused: false })
    await visit(page, ['#/audit', 'Audit log'])
    for (const name of ['Merchant paused', 'Merchant resumed'])
      await page.getByRole('cell', { name, exact: true }).waitFor()
  })

  it('enter a new address twice, see that it waits, and take it back', async () => {
    await enter(tokenOf('owner'), 360)
    await visit(page, ['#/merchants/acme', 'acme'])
    await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
    await page.getByLabel('Paid to', { exact: true }).fill(OTHER)
    const again = page.getByLabel('Paid to, again')
    expect(await again.getAttribute('aria-invalid')).toBeNull()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('input[aria-invalid="true"]:focus').waitFor()
    expect(await again.getAttribute('aria-invalid')).toBe('true')
    expect((await api.ask('GET', '/projects/acme')).body).not.toHaveProperty('nextPayTo')
    await again.fill(OTHER)
    await page.getByRole('button', { name: 'Save' }).click()
    const takeBack = page.getByRole('button', { name: 'Keep the current address' })
    await takeBack.waitFor()
    expect(await findViolations(page)).toEqual([])
    const { nextPayTo, merchant } = (await api.ask('GET', '/projects/acme')).body
    expect([nextPayTo.payTo, merchant.payTo]).toEqual([OTHER, PAY_TO])
    await takeBack.click()
    await takeBack.waitFor({ state: 'detached' })
    expect((await api.ask('GET', '/projects/acme')).body).not.toHaveProperty('nextPayTo')
  })
})
