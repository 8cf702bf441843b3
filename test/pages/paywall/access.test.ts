/** Who can use the paywall: by keyboard, by screen reader, on a phone, and without JavaScript. */
import { expect, it } from '@jest/globals'
import compression from 'compression'
import session from 'express-session'
import helmet from 'helmet'
import { findViolations, openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { addWallet } from '../../support/browser-wallet.js'
import { CENT, openBuyer, openWorld, PAY } from './world.js'
import { useOpened } from '../../support/use-opened.js'

/** The 402 itself is an error to the console of the browser. */
const expected = /\b402 \(/

const browser = useBrowser()
const visits = session({ secret: 'x', resave: false, saveUninitialized: true })
const world = useOpened(() =>
  openWorld({ paywall: { accent: '#ffd400' } }, [helmet(), compression(), visits]),
)

withBrowser('the paywall', () => {
  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('has nothing that axe finds, in %s, %d px wide', async (colorScheme, width) => {
    const { page, wallet, complaints } = await openBuyer(world, browser, {
      ...{ colorScheme, width, height: 740, isPhone: width === 360, expected },
    })
    await page.goto(`${world.url}/buy/json`)
    await page.getByRole('button', { name: PAY }).waitFor()
    expect(await findViolations(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    wallet.behaviour = 'decline'
    await page.getByRole('button', { name: PAY }).click()
    await page.getByRole('alert').waitFor()
    expect(await findViolations(page)).toEqual([])
    wallet.behaviour = 'sign'
    await page.getByRole('button', { name: PAY }).click()
    await page.getByRole('heading', { name: 'Paid.' }).waitFor()
    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('can be used by keyboard alone', async () => {
    const before = await world.earned()
    const { page } = await openBuyer(world, browser)
    await page.goto(`${world.url}/buy/json`)
    await page.getByRole('button', { name: PAY }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toMatch(PAY)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Paid.' }).waitFor()
    // What was bought is where the reader is.
    expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Paid\./)
    expect(await world.earned()).toBe(before + CENT)
  })

  it('says in words what is signed, and signs exactly that', async () => {
    const { page, wallet } = await openBuyer(world, browser)
    await page.goto(`${world.url}/buy/json`)
    const { address } = world.devnet.merchant
    await page.getByText(`One-time approval to pay exactly 0.01 USDC on Base Sepolia to`).waitFor()
    expect(await page.locator('.signed').textContent()).toContain(address)
    await page.getByRole('button', { name: PAY }).click()
    await page.getByRole('heading', { name: 'Paid.' }).waitFor()
    const { primaryType, domain, message } = JSON.parse(wallet.signed[0] ?? '') as SignedData
    expect(primaryType).toBe('TransferWithAuthorization')
    expect(domain).toEqual({
      ...{ name: 'USDC', version: '2', chainId: 84532, verifyingContract: world.devnet.asset },
    })
    expect([message.to.toLowerCase(), message.value]).toEqual([address.toLowerCase(), '10000'])
    expect(Number(message.validBefore) - Number(message.validAfter)).toBe(900)
  })

  it.each(['light', 'dark'] as const)(
    'says in words that the seller cannot be paid now, without JavaScript, in %s',
    async (colorScheme) => {
      const { page, complaints } = await openTab(browser, {
        ...{ colorScheme, javaScriptEnabled: false, width: 360, locale: 'de-DE' },
        expected: /\b(402|503) \(/,
      })
      world.market.hasRates = false
      await page.goto(`${world.url}/buy/in-euro?a=1`)
      await page.getByText('Es wurde nichts abgebucht.').waitFor()
      await page.getByText('Warten Sie 5 Sekunden').waitFor()
      world.market.hasRates = true
      await page.getByRole('link', { name: 'Noch einmal versuchen' }).click()
      await page.getByText('Zahlung erforderlich').waitFor()
      expect(page.url()).toBe(`${world.url}/buy/in-euro?a=1`)
      expect(complaints).toEqual([])
    },
  )

  it('shows a problem in which axe finds nothing', async () => {
    const { page, complaints } = await openTab(browser, { expected: /\b503 \(/ })
    world.market.hasRates = false
    await page.goto(`${world.url}/buy/in-euro`)
    await page.getByRole('link', { name: 'Try again' }).waitFor()
    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
    world.market.hasRates = true
  })

  it('explains itself without JavaScript', async () => {
    const { page, complaints } = await openTab(browser, {
      ...{ javaScriptEnabled: false, locale: 'de-DE', expected },
    })
    await page.goto(`${world.url}/buy/json`)
    const explained = page.locator('noscript .notice')
    await explained.waitFor()
    expect(await explained.textContent()).toContain('Schalten Sie JavaScript ein')
    expect(await page.locator('#pay').textContent()).toContain('0,01 USDC')
    expect(await page.getByRole('button').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('asks nobody else for anything, and offers each of several wallets', async () => {
    const { page, complaints } = await openBuyer(world, browser, { expected })
    await addWallet(page, world.devnet.payers[1]!, { name: 'Other Wallet' })
    const hosts = new Set<string>()
    page.on('request', (request) => hosts.add(new URL(request.url()).host))
    await page.goto(`${world.url}/buy/json`)
    await page.getByRole('button', { name: PAY }).waitFor()
    await page.getByRole('button', { name: 'Pay 0.01 USDC with Other Wallet' }).click()
    await page.getByRole('heading', { name: 'Paid.' }).waitFor()
    expect([...hosts].filter((host) => host !== '')).toEqual([new URL(world.url).host])
    expect(complaints).toEqual([])
  })
})

interface SignedData {
  readonly primaryType: string
  readonly domain: object
  readonly message: {
    readonly to: string
    readonly value: string
    readonly validAfter: string
    readonly validBefore: string
  }
}
