/** What a merchant does on its own page, in a real browser. */
import { beforeAll, expect, it } from '@jest/globals'
import { findViolations, openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { signIn, visit } from './browser.js'
import { ADMIN_TOKEN, CREATED, openWorld } from './world.js'
import { useOpened } from '../../support/use-opened.js'

/** One pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

const browser = useBrowser()
const world = useOpened(openWorld)
let token = ''

withBrowser('a merchant’s own page', () => {
  beforeAll(async () => {
    const create = async (path: string, body: object) => {
      const init = { method: 'POST', body: JSON.stringify(body) }
      const response = await world.api(`admin/${path}`, ADMIN_TOKEN, init)
      expect(response.status).toBe(201)
      return (await response.json()) as { readonly token: string }
    }
    const merchant = { name: 'Acme reports', payTo: world.devnet.merchant.address }
    await create('projects', { id: CREATED, merchant })
    token = (await create(`projects/${CREATED}/tokens`, { label: 'Shop server' })).token
  })

  const status = async (one: string) => (await world.api('merchant/project', one)).status

  it('gives the payment page a look, which buyers see', async () => {
    const { page, complaints } = await openTab(browser, {
      expected: /status of 40[01] /,
    })
    await signIn(page, world.console, token)
    await visit(page, ['#/settings', 'Settings'])
    await page.getByText(world.devnet.merchant.address).waitFor()
    expect(await findViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Edit the payment page' }).click()
    await page.getByLabel('Button colour').fill('green')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.field-error', { hasText: 'must be a colour' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('Acme & Sons')
    await page.getByLabel('Button colour').fill('#ab12cd')
    await page.getByLabel('Heading').fill('Read on for a quarter')
    const file = { name: 'logo.png', mimeType: 'image/png', buffer: PIXEL }
    await page.getByLabel('Logo').setInputFiles(file)
    await page.getByRole('button', { name: 'Remove the logo' }).waitFor()
    expect(await findViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('#ab12cd').waitFor()
    await page.locator('img.logo').waitFor()
    const bought = await fetch(`${world.url}/report/1`, { headers: { Accept: 'text/html' } })
    const html = await bought.text()
    expect(html).toContain('--accent:#ab12cd')
    expect(html).toContain('Acme &amp; Sons')
    expect(html).toContain('Read on for a quarter')
    expect(html).toContain('src="data:image/png;base64,')
    expect(complaints).toEqual([])
  })

  it('pauses and resumes; a pause of the operator is not the merchant’s to end', async () => {
    const { page, complaints } = await openTab(browser, {
      expected: /status of 40[01] /,
    })
    const offered = async () => (await fetch(`${world.url}/report/1`)).status
    await signIn(page, world.console, token)
    await visit(page, ['#/settings', 'Settings'])
    await page.getByRole('button', { name: 'Pause…' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await offered()).toBe(402)
    await page.getByRole('button', { name: 'Pause…' }).click()
    await page.getByRole('button', { name: 'Pause payments' }).click()
    await page.getByText('new payments are refused').waitFor()
    expect(await offered()).toBe(503)
    expect(await findViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Resume payments' }).click()
    await page.getByRole('button', { name: 'Pause…' }).waitFor()
    expect(await offered()).toBe(402)
    const init = { method: 'PATCH', body: JSON.stringify({ paused: true }) }
    await world.api(`admin/projects/${CREATED}`, ADMIN_TOKEN, init)
    await page.reload()
    await page.getByText('Ask the operator of the gateway to resume').waitFor()
    expect(await page.getByRole('button', { name: 'Resume payments' }).count()).toBe(0)
    const end = { method: 'PATCH', body: JSON.stringify({ paused: false }) }
    await world.api(`admin/projects/${CREATED}`, ADMIN_TOKEN, end)
    expect(complaints).toEqual([])
  })

  it('keeps what was typed when the session ends, and a new token until it is taken', async () => {
    const { page, context } = await openTab(browser)
    await signIn(page, world.console, token)
    await visit(page, ['#/settings', 'Settings'])
    await page.getByRole('button', { name: 'Edit the payment page' }).click()
    await page.getByLabel('Heading').fill('Half a text')
    await context.clearCookies()
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByText('Your session has ended.').waitFor()
    expect(await findViolations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await dialog.getByLabel('Token').fill(token)
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect(await page.getByLabel('Heading').inputValue()).toBe('Half a text')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Half a text').waitFor()

    await page.getByRole('button', { name: /^Rotate/ }).click()
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('button', { name: 'Revoke the old token' }).waitFor()
    const fresh = (await page.locator('.copyable code').textContent()) ?? ''
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    expect(await page.locator('.copyable code').textContent()).toBe(fresh)
    expect([await status(token), await status(fresh)]).toEqual([200, 200])
    // The session was opened with the old token: it ends.
    await page.getByRole('button', { name: 'Revoke the old token' }).click()
    await dialog.getByLabel('Token').fill(fresh)
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect([await status(token), await status(fresh)]).toEqual([401, 200])
  })
})
