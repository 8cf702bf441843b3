/** A partial refund whose answer is lost: it is made once, whatever the merchant clicks. */
import { beforeAll, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { openTab } from '../../support/browser.js'
import { addWallet, type TestWallet } from '../../support/browser-wallet.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { useOpened } from '../../support/use-opened.js'
import { signIn, visit } from './browser.js'
import { ADMIN_TOKEN, openWorld } from './world.js'

const browser = useBrowser()
const world = useOpened(() =>
  openWorld({
    sell(app, { x402Protect }) {
      const reference = (req: { params: Record<string, unknown> }) => String(req.params['name'])
      app.get('/whole/:name', x402Protect('$1.00', { reference }), (_req, res) => void res.end())
    },
  }),
)
const REFUNDS = /\/settlements\/[0-9a-f]+\/refunds$/

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const WAS_IT_MADE = 'Was the refund of 0.25 USDC made?'
const sendAgain = (page: Page) =>
  button(page, 'Try again').and(
    page.locator('.notice', { hasText: WAS_IT_MADE }).getByRole('button'),
  )

withBrowser('a partial refund whose answer is lost', () => {
  let page: Page
  let wallet: TestWallet

  beforeAll(async () => {
    ;({ page } = await openTab(browser, { expected: /ERR_FAILED/ }))
    wallet = await addWallet(page, world.devnet.merchant)
    await signIn(page, world.console, ADMIN_TOKEN)
  })

  /** Sells, opens the settlement, and has a quarter of it paid back. What is asked after that is cut off. */
  async function loseAnswer(name: string, { isSent }: { readonly isSent: boolean }) {
    expect((await world.buy(`/whole/${name}`, world.devnet.payers[0]!)).status).toBe(200)
    await visit(page, ['#/settlements', 'Settlements'])
    await page.getByRole('row').filter({ hasText: name }).getByRole('link').first().click()
    await page.getByLabel('Amount in USDC').fill('0.25')
    const before = { earned: await world.earned(), signed: wallet.signed.length }
    let isCut = false
    await page.route(REFUNDS, async (route) => {
      const isPost = route.request().method() === 'POST'
      if (!isPost && !isCut) return route.continue()
      isCut = true
      if (isPost && isSent) await route.fetch()
      return route.abort()
    })
    await button(page, 'Refund with Test Wallet').click()
    await page.getByText(WAS_IT_MADE).waitFor()
    return {
      paidBack: async () => before.earned - (await world.earned()),
      signed: () => wallet.signed.length - before.signed,
    }
  }
  const comeBack = () => page.unroute(REFUNDS)
  const ONCE = 250_000n

  it('is the same refund when it is sent again', async () => {
    const { paidBack, signed } = await loseAnswer('sent', { isSent: true })
    await comeBack()
    await sendAgain(page).click()
    await page.getByText('At most 0.75 USDC').waitFor()
    expect([await paidBack(), signed()]).toEqual([ONCE, 1])
    // The next one is another one.
    await page.getByLabel('Amount in USDC').fill('0.25')
    await button(page, 'Refund with Test Wallet').click()
    await page.getByText('At most 0.5 USDC').waitFor()
    expect([await paidBack(), signed()]).toEqual([2n * ONCE, 2])
  })

  it('is the same refund after a reload, and in another tab', async () => {
    const { paidBack, signed } = await loseAnswer('reloaded', { isSent: false })
    await comeBack()
    expect(await paidBack()).toBe(0n)
    await page.reload()
    await page.getByText(WAS_IT_MADE).waitFor()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await sendAgain(other).click()
    await other.getByText('At most 0.75 USDC').waitFor()
    await sendAgain(page).click()
    await page.getByText('At most 0.75 USDC').waitFor()
    expect([await paidBack(), signed()]).toEqual([ONCE, 1])
    await other.close()
  })

  it('is kept while what was paid for is being delivered, and forgotten once it is refused for good', async () => {
    const { paidBack, signed } = await loseAnswer('refused', { isSent: false })
    await comeBack()
    let refusal: object = { delivering: true }
    await page.route(REFUNDS, (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            ...{ status: 409, contentType: 'application/problem+json' },
            body: JSON.stringify({ code: 'settlement_not_refundable', ...refusal }),
          })
        : route.continue(),
    )
    const answered = () => page.waitForResponse(REFUNDS)
    const sent = answered()
    await sendAgain(page).click()
    await sent
    await sendAgain(page).waitFor()
    refusal = { detail: 'This settlement has as many refunds as it may have.' }
    await sendAgain(page).click()
    await page.getByText('At most 1 USDC').waitFor()
    await page.getByText('as many refunds as it may have').waitFor()
    expect([await paidBack(), signed()]).toEqual([0n, 1])
    await comeBack()
  })

  it('is not asked about once the list of refunds shows it', async () => {
    const { paidBack } = await loseAnswer('listed', { isSent: true })
    await comeBack()
    await page.reload()
    await page.getByText('At most 0.75 USDC').waitFor()
    expect(await paidBack()).toBe(ONCE)
  })
})
