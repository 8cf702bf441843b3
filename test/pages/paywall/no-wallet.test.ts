/** Ways to pay for people whose browser has no wallet. */
import { expect, it } from '@jest/globals'
import { findViolations, openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { scanQrCode } from '../../support/scan-qr-code.js'
import { openWorld } from './world.js'
import { useOpened } from '../../support/use-opened.js'

const expected = /\b402 \(/

const browser = useBrowser()
const world = useOpened(openWorld)

withBrowser('a buyer without a wallet', () => {
  it.each([
    ['light', '/buy/json'],
    ['dark', '/buy/json'],
    ['light', '/buy/json?a=1&name=%C3%84&utm_campaign=a-rather-long-name-of-a-campaign-of-2026'],
  ] as const)('gets the page onto a phone with a QR code, in %s: %s', async (colorScheme, path) => {
    const { page, complaints } = await openTab(browser, { colorScheme, expected })
    const hosts = new Set<string>()
    page.on('request', (request) => hosts.add(new URL(request.url()).host))
    await page.goto(`${world.url}${path}#part`)
    const code = page.getByRole('img', { name: 'Scan this code' })
    expect(await scanQrCode(browser, code)).toBe(world.url + path)
    expect([...hosts].filter(Boolean)).toEqual([new URL(world.url).host])
    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('finds wallets to install, and can try again', async () => {
    const { page } = await openTab(browser, { expected })
    await page.goto(`${world.url}/buy/json`)
    await page.getByText('you need a crypto wallet').waitFor()
    const links = await page.getByRole('link').allTextContents()
    expect(links).toEqual(['MetaMask', 'Coinbase Wallet', 'Rabby', 'Get test money'])
    const [again] = await Promise.all([
      page.waitForResponse((response) => response.url() === `${world.url}/buy/json`),
      page.getByRole('button', { name: 'Try again' }).click(),
    ])
    expect(again.status()).toBe(402)
  })

  it('is led from a phone into the apps of wallets', async () => {
    const phone = { width: 360, height: 740, isPhone: true, expected }
    const { page, complaints } = await openTab(browser, phone)
    await page.goto(`${world.url}/buy/json?a=1`)
    await page.getByText('Open this page in your wallet app').waitFor()
    const links = await page
      .locator('a.button')
      .evaluateAll<string[], { href: string }>((all) => all.map(({ href }) => href))
    const own = `${world.url}/buy/json?a=1`
    const encoded = encodeURIComponent(own)
    // As docs.metamask.io, docs.cdp.coinbase.com, developer.trustwallet.com, docs.phantom.com and web3.okx.com have them.
    expect(links).toEqual([
      `https://link.metamask.io/dapp/${own.replace('http://', '')}`,
      `https://go.cb-w.com/dapp?cb_url=${encoded}`,
      `https://link.trustwallet.com/open_url?coin_id=60&url=${encoded}`,
      `https://phantom.app/ul/browse/${encoded}?ref=${encoded}`,
      `https://web3.okx.com/download?deeplink=${encodeURIComponent(`okx://wallet/dapp/url?dappUrl=${encoded}`)}`,
    ])
    expect(await page.locator('a.button').allTextContents()).toEqual([
      ...['MetaMask', 'Coinbase Wallet', 'Trust Wallet', 'Phantom', 'OKX Wallet'],
    ])
    expect(await page.getByRole('img').count()).toBe(0)
    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('is told that a wallet is needed where its URL is too long for a code', async () => {
    const { page, complaints } = await openTab(browser, { expected })
    await page.goto(`${world.url}/buy/json?${'x'.repeat(4000)}`)
    await page.getByText('you need a crypto wallet').waitFor()
    expect(await page.getByRole('img').count()).toBe(0)
    expect(complaints).toEqual([])
  })
})
