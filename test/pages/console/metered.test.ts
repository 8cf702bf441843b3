/** The console of a shop that sells for what was used, and for tokens that Permit2 moves. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Express } from 'express'
import type { Page } from 'playwright-core'
import type { Gateway } from '../../../src/gateway/gateway.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { findViolations, openTab, type Tab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { addWallet, type TestWallet } from '../../support/browser-wallet.js'
import { paymentHeader } from '../../support/http.js'
import { permit2On } from '../../support/permit2.js'
import { paymentRequiredOf } from '../../support/shop.js'
import { signUpTo } from '../../support/sign-up-to.js'
import { startReceiver, type Receiver } from '../../operate/webhooks/receiver.js'
import { until } from '../../support/until.js'
import { signIn, visit } from './browser.js'
import { ADMIN_TOKEN, CONFIGURED, openWorld, SHOP_TOKEN } from './world.js'
import { useOpened } from '../../support/use-opened.js'
import { useCleanup } from '../../support/cleanup.js'

const toEnd = useCleanup(afterAll)

const browser = useBrowser()
const world = useOpened(() =>
  openWorld({
    sell,
    assets: ({ plainToken }) => [
      { asset: 'USDC', permit2: true },
      { address: plainToken, symbol: 'PLN', decimals: 6, currency: 'USD', permit2: true },
    ],
  }),
)
let receiver: Receiver
/** Has the merchant's wallet. */
let operator: Tab
let wallet: TestWallet

/** Sells for what the URL says, of at most ten cents, and for a cent in any token. */
function sell(app: Express, { x402Protect }: Gateway): void {
  app.get(
    '/metered/:charge',
    x402Protect({ upTo: '$0.10' }, { reference: (req) => `used ${String(req.params['charge'])}` }),
    (req, res) => {
      paidRequest(req).charge(`$${req.params['charge']}`)
      res.json({ used: true })
    },
  )
  app.get(
    '/plain/:reference',
    x402Protect('$0.01', { reference: (req) => String(req.params['reference']) }),
    (_req, res) => void res.json({ sold: true }),
  )
}

/** Buys what each kind of payment pays for, by one payer. */
async function buyAll(): Promise<void> {
  const { devnet, url } = world
  const permit2 = permit2On(devnet)
  const payer = devnet.payers[0]!
  await permit2.approve(payer.address)
  await permit2.approve(payer.address, devnet.plainToken)
  await devnet.mint(payer.address, 10_000_000n, devnet.plainToken)
  const buy = async (path: string, sign: (required: Response) => Promise<object>) => {
    const payment = await sign(await fetch(url + path))
    const sold = await fetch(url + path, { headers: paymentHeader(payment) })
    if (sold.status !== 200) throw new Error(`${path}: ${sold.status} ${await sold.text()}`)
  }
  const byPermit2 = (asset: string) => (required: Response) => {
    const { accepts, resource } = paymentRequiredOf(required)
    const offer = accepts.find(
      (one) =>
        one.asset.toLowerCase() === asset.toLowerCase() &&
        one.extra?.['assetTransferMethod'] === 'permit2',
    )!
    return permit2.sign(payer, offer).then((payment) => ({ ...payment, resource }))
  }
  await world.buy('/plain/by-signature', payer)
  await buy('/plain/by-permit', byPermit2(devnet.asset))
  await buy('/plain/other-token', byPermit2(devnet.plainToken))
  for (const charge of ['0.0234', '0', '0.10'])
    await buy(`/metered/${charge}`, (required) => signUpTo(required, payer))
}

const rowOf = (page: Page, reference: string) =>
  page.getByRole('row').filter({ has: page.locator('.what').getByText(reference, { exact: true }) })

/** What a list says that a payment took. */
const amountOf = (page: Page, reference: string): Promise<string | null> =>
  rowOf(page, reference).locator('.money').textContent()

/** Opens the page of a payment. */
async function openPayment(page: Page, reference: string): Promise<void> {
  await visit(page, ['#/settlements', 'Settlements'])
  await rowOf(page, reference).getByRole('link').first().click()
  await page.getByRole('heading', { name: 'On chain' }).waitFor()
  await until(async () => (await page.locator('[aria-busy="true"]').count()) === 0)
}

/** The facts of the payment that is open. */
async function factsOf(page: Page): Promise<Readonly<Record<string, string>>> {
  const names = await page.locator('.facts dt').allTextContents()
  const values = await page.locator('.facts dd').allTextContents()
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']))
}

const HASH = expect.stringMatching(/^0x[0-9a-f]{64}/)
const METERED = { Scheme: 'upto', 'List price': 'up to $0.10' }
const FIXED = { Scheme: 'exact', 'List price': '$0.01' }

withBrowser('metered payments in the console', () => {
  beforeAll(async () => {
    receiver = await startReceiver(toEnd)
    await world.api(`admin/projects/${CONFIGURED}/webhooks`, ADMIN_TOKEN, {
      method: 'POST',
      body: JSON.stringify({ url: receiver.url }),
    })
    await buyAll()
    operator = await openTab(browser, { expected: /status of 401 / })
    wallet = await addWallet(operator.page, world.devnet.merchant)
    await signIn(operator.page, world.console, ADMIN_TOKEN)
  })

  it('are listed with what was charged, of at most what was signed', async () => {
    const { page } = operator
    await visit(page, ['#/settlements', 'Settlements'])
    expect(await amountOf(page, 'used 0.0234')).toBe('0.0234 USDC Test$0.0234of at most 0.10 USDC')
    expect(await amountOf(page, 'used 0')).toBe('0.00 USDC Test$0.00of at most 0.10 USDC')
    expect(await amountOf(page, 'used 0.10')).toBe('0.10 USDC Test$0.10of at most 0.10 USDC')
    for (const reference of ['by-signature', 'by-permit'])
      expect(await amountOf(page, reference)).toBe('0.01 USDC Test$0.01')
    expect(await amountOf(page, 'other-token')).toBe('0.01 PLN Test$0.01')
  })

  it('are found and summed by what was charged', async () => {
    const { page } = await openTab(browser)
    await signIn(page, world.console, SHOP_TOKEN)
    const amounts = 'minAmount=0.02&maxAmount=0.05'
    await visit(page, [`#/settlements?${amounts}`, 'Settlements'])
    expect(await page.locator('tbody tr').count()).toBe(1)
    expect(await amountOf(page, 'used 0.0234')).toContain('0.0234 USDC')
    await visit(page, ['#/settlements?search=used', 'Settlements'])
    const found = await page.locator('.found').textContent()
    expect(found).toContain('3 payments')
    expect(found).toContain('0.1234 USDC')
    await visit(page, ['#/overview', 'Overview'])
    const headline = await page.locator('.headline').textContent()
    expect(headline).toContain('0.1434 USDC')
    expect(headline).toContain('0.01 PLN')
  })

  it.each([
    ['used 0.0234', { ...METERED, 'Atomic units': '23400', Transaction: HASH }],
    ['used 0.10', { ...METERED, 'Atomic units': '100000', Transaction: HASH }],
    [
      'used 0',
      { ...METERED, 'Atomic units': '0', Transaction: expect.stringMatching(/^None: nothing was/) },
    ],
    ['by-permit', { ...FIXED, 'Atomic units': '10000', Transaction: HASH }],
    ['by-signature', { ...FIXED, 'Atomic units': '10000', Transaction: HASH }],
  ])('tell of %s what its scheme has taken', async (reference, facts) => {
    const { page, complaints } = operator
    await openPayment(page, reference)
    expect(await factsOf(page)).toMatchObject(facts)
    const isFree = reference === 'used 0'
    expect(await page.locator('a[href*="/tx/"]').count()).toBe(isFree ? 0 : 1)
    const end = isFree ? 'Nothing was charged' : 'Payment settled'
    expect(await page.locator('.story').textContent()).toContain(end)
    expect(await page.getByRole('heading', { name: 'Refunds' }).count()).toBe(isFree ? 0 : 1)
    expect(complaints).toEqual([])
  })

  it.each([
    ['light', 1280],
    ['light', 360],
    ['dark', 1280],
    ['dark', 360],
  ] as const)('fit a page that is %s and %i pixels wide', async (colorScheme, width) => {
    const { page } = await openTab(browser, { colorScheme, width })
    await signIn(page, world.console, ADMIN_TOKEN)
    const check = async (): Promise<void> => {
      const [content, visible] = await page.evaluate<[number, number]>(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      )
      expect(content).toBeLessThanOrEqual(visible)
      expect(await findViolations(page)).toEqual([])
    }
    await visit(page, ['#/settlements', 'Settlements'])
    await check()
    for (const reference of ['used 0', 'other-token']) {
      await openPayment(page, reference)
      await check()
    }
  })

  it('pay back what was charged, and no more', async () => {
    const { page } = operator
    await openPayment(page, 'used 0.0234')
    const amount = page.getByLabel('Amount in USDC')
    await amount.fill('0.03')
    await page.getByText('Only 0.0234 USDC is left to refund.').waitFor()
    await amount.fill('0.0234')
    const before = await world.earned()
    await page.getByRole('button', { name: 'Refund with Test Wallet' }).click()
    await page.getByText('This payment was fully refunded.').waitFor()
    expect(await world.earned()).toBe(before - 23_400n)
    expect(wallet.signed).toHaveLength(1)
  })

  it('say why a token that only Permit2 moves is not refunded, and ask no wallet', async () => {
    const { page } = operator
    await openPayment(page, 'other-token')
    const asked = wallet.asked.length
    await page.getByText('PLN cannot be refunded here').waitFor()
    await page.getByText('send up to 0.01 PLN').waitFor()
    const link = page.locator('.notice a')
    expect(await link.getAttribute('href')).toContain(world.devnet.payers[0]!.address)
    expect(await page.getByRole('button', { name: /^Refund with/ }).count()).toBe(0)
    expect(wallet.asked).toHaveLength(asked)
  })

  it('are exported by what was charged', async () => {
    const response = await world.api('admin/settlements.csv?search=used', ADMIN_TOKEN)
    const [head = '', ...lines] = (await response.text()).trim().split('\n')
    const names = head.split(',')
    const rows = lines
      .map((line) => Object.fromEntries(line.split(',').map((cell, at) => [names[at]!, cell])))
      .filter(({ type }) => type === 'payment')
    const read = rows.map(({ reference, units, price, askedPrice, transaction }) => {
      return [reference, units, price, askedPrice, transaction !== '']
    })
    expect(read).toEqual([
      ['used 0', '0', '0.00', '$0.10', false],
      ['used 0.0234', '23400', '0.0234', '$0.10', true],
      ['used 0.10', '100000', '0.10', '$0.10', true],
    ])
  })

  it('are told to the webhook, whose page lists each', async () => {
    const told = () => receiver.received.filter(({ type }) => type === 'payment.settled')
    await until(() => told().length >= 6)
    const amounts = told().map(({ data: { reference, amount, maximum } }) => [
      reference,
      amount,
      maximum,
    ])
    expect(amounts).toEqual(
      expect.arrayContaining([
        ['used 0', '0', '100000'],
        ['used 0.0234', '23400', '100000'],
        ['used 0.10', '100000', '100000'],
        ['by-permit', '10000', undefined],
      ]),
    )
    const { page } = await openTab(browser)
    await signIn(page, world.console, SHOP_TOKEN)
    await visit(page, ['#/webhooks', 'Webhooks'])
    await page.getByRole('link', { name: receiver.url }).click()
    const delivered = page.getByRole('row').filter({ hasText: 'payment.settled' })
    await until(async () => (await delivered.count()) === 6)
  })
})
