/** Each page of the console, full and in trouble: for everyone to use, and safe from what strangers write. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startReceiver, withStatus } from '../../operate/webhooks/receiver.js'
import { findViolations, openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { signIn, visit, type View } from './browser.js'
import { fillWorld } from './fill-world.js'
import { addWallet } from '../../support/browser-wallet.js'
import { ADMIN_TOKEN, CONFIGURED, openWorld, SHOP_TOKEN } from './world.js'
import { useOpened } from '../../support/use-opened.js'
import { useCleanup } from '../../support/cleanup.js'

const toEnd = useCleanup(afterAll)

/** What a stranger writes wherever something is kept of it. */
const EVIL = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`

const browser = useBrowser()
const world = useOpened(openWorld)
let views: Readonly<Record<string, View>>

withBrowser('the pages of the console', () => {
  beforeAll(async () => {
    const receiver = await startReceiver(toEnd)
    receiver.respond = withStatus(500, EVIL)
    views = await fillWorld(world, receiver.url)
  })

  it.each([
    ['light', 1280],
    ['light', 360],
    ['dark', 1280],
    ['dark', 360],
  ] as const)(
    'have no violation that axe finds, %s and %i pixels wide',
    async (colorScheme, width) => {
      const tab = await openTab(browser, { colorScheme, width, expected: /status of 401 / })
      const { page, complaints } = tab
      await addWallet(page, world.devnet.merchant)
      const found: string[] = []
      const check = async (name: string): Promise<void> => {
        const violations = await findViolations(page)
        const [content, visible] = await page.evaluate<[number, number]>(
          '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
        )
        if (content > visible) found.push(`${name}: ${content} px of content in ${visible}`)
        found.push(...violations.map((one) => `${name}: ${one}`))
      }
      await page.goto(world.console)
      await page.getByLabel('Token').waitFor()
      await check('sign-in')
      await signIn(page, world.console, ADMIN_TOKEN)
      for (const [name, view] of Object.entries(views)) {
        await visit(page, view)
        await check(name)
      }
      await visit(page, views['merchants']!)
      await page.getByRole('button', { name: 'New merchant' }).click()
      await page.getByText('Limits, rates and protocol').click()
      await check('new merchant')
      expect(found).toEqual([])
      expect(complaints).toEqual([])
    },
  )

  it('show what strangers write as text', async () => {
    const { page, complaints } = await openTab(browser, { expected: /status of 401 / })
    const text = encodeURIComponent(EVIL)
    const bought = await world.buy(`/any/${text}?reference=${text}`, world.devnet.payers[7]!)
    expect(bought.status).toBe(200)
    await world.api(`admin/projects/evil`, ADMIN_TOKEN)
    const merchant = { name: EVIL, payTo: world.devnet.merchant.address }
    const body = JSON.stringify({ id: 'evil', merchant })
    await world.api('admin/projects', ADMIN_TOKEN, { method: 'POST', body })
    await world.api('admin/projects/evil/tokens', ADMIN_TOKEN, {
      method: 'POST',
      body: JSON.stringify({ label: EVIL }),
    })
    await signIn(page, world.console, ADMIN_TOKEN)
    const pages: readonly View[] = [
      ...Object.values(views),
      ['#/merchants/evil', 'evil'],
      [`#/settlements?search=${text}`, 'Settlements'],
    ]
    for (const view of pages) {
      await visit(page, view)
      expect(await page.locator('main img, main script').count()).toBe(0)
    }
    await page.getByRole('row').filter({ hasText: '<img src=x' }).getByRole('link').first().click()
    await page.getByRole('heading', { name: 'Purchase' }).waitFor()
    await page.getByText(EVIL, { exact: true }).waitFor()
    await visit(page, views['webhook']!)
    await page.locator('summary', { hasText: 'Response' }).first().click()
    await page.locator('pre').filter({ hasText: EVIL }).first().waitFor()
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(complaints).toEqual([])
  })

  it('say that a token is unknown', async () => {
    const { page } = await openTab(browser)
    await page.goto(world.console)
    await page.getByLabel('Token').fill('not-a-token-of-this-gateway')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
      'Sign in to the console',
    )
  })

  it('say that the gateway is away, and recover when it is back', async () => {
    const { page } = await openTab(browser)
    await signIn(page, world.console, SHOP_TOKEN)
    await visit(page, ['#/settlements', 'Settlements'])
    world.goAway()
    try {
      await page.getByText('The gateway does not answer.').waitFor()
      await page.getByRole('row').filter({ hasText: 'visit-1' }).waitFor()
    } finally {
      world.comeBack()
    }
    await page.getByRole('alert').waitFor({ state: 'detached' })
    expect(await page.getByRole('row').filter({ hasText: 'visit-1' }).count()).toBe(1)
    world.goAway()
    try {
      await page.evaluate(`location.hash = '#/refunds'`)
      await page.getByText('The gateway does not answer.').waitFor()
    } finally {
      world.comeBack()
    }
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  it('move the focus by keyboard alone, and return it', async () => {
    const { page } = await openTab(browser)
    await signIn(page, world.console, ADMIN_TOKEN)
    await page.getByRole('link', { name: 'Merchants' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('h1:focus', { hasText: 'Merchants' }).waitFor()
    expect(await page.title()).toBe('Merchants – x402 gateway')
    await page.getByRole('button', { name: 'New merchant' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('dialog[open] :focus').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('button:focus', { hasText: 'New merchant' }).waitFor()
    await visit(page, [`#/merchants/${CONFIGURED}`, CONFIGURED])
    await page.getByText('is defined in the configuration').waitFor()
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0)
  })
})
