/** What people buy in a browser with a token that, as USDT on Ethereum, is approved only where nothing is. */
import { beforeEach, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { oddTokenAbi } from '../../tools/devnet/abis.js'
import { oddTokenCode } from '../../tools/devnet/hostile-code.js'
import { oddTokenModes } from '../../tools/devnet/odd-token.js'
import { permit2Of } from '../../tools/devnet/permit2.js'
import { openTab, type Tab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { addWallet, type TestWallet } from '../../support/browser-wallet.js'
import { deploy } from '../../support/contracts.js'
import { askNode } from '../../support/core.js'
import { shopOptions, useDevnet } from '../../support/devnet.js'
import { toHex } from '../../support/on-chain.js'
import { openShop } from '../../support/shop.js'
import { newNonce } from '../../support/sign-payment.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useDevnet()
const { approve, balanceOf, send } = permit2Of(devnet)

const PRICE = 10_000n

let token: Hex
const browser = useBrowser()
const shop = useOpened(async () => {
  token = await deploy(devnet, oddTokenCode)
  const args = [oddTokenModes.approvesFromZero]
  await send({ address: token, abi: oddTokenAbi, functionName: 'behave', args })
  const options = shopOptions(devnet)
  const [network] = Object.values(options.networks ?? {})
  const asset = { address: token, symbol: 'ODD', decimals: 6, currency: 'USD', permit2: true }
  return openShop(
    devnet,
    (app, { x402Protect }) => {
      app.get('/favicon.ico', (_req, res) => void res.sendStatus(204))
      app.get('/item', x402Protect('$0.01'), (_req, res) => void res.json({ sold: 'item' }))
    },
    { ...options, networks: { 'base-sepolia': { ...network, assets: [asset] } } },
  )
})

withBrowser('a token that is approved only where nothing is', () => {
  let tab: Tab
  let page: Page
  let wallet: TestWallet
  let payer: Hex
  beforeEach(async () => {
    const privateKey = newNonce()
    payer = privateKeyToAccount(privateKey).address
    await devnet.mint(payer, PRICE * 100n, token)
    await askNode(devnet, 'anvil_setBalance', payer, toHex(10n ** 18n))
    tab = await openTab(browser, { expected: /\b402 \(/ })
    ;({ page } = tab)
    wallet = await addWallet(page, { address: payer, privateKey }, { rpcUrl: devnet.rpcUrl })
    await page.goto(`${shop.url}/item`)
  })

  const press = () => page.getByRole('button', { name: /^Pay .* with Test Wallet$/ }).click()
  const paid = () => page.getByText('Paid. This is what you bought:').waitFor()
  const transactions = () => wallet.asked.filter((one) => one === 'eth_sendTransaction').length

  it.each(['send', 'replace'] as const)(
    'is bought with after an earlier approval that is too small (%s)',
    async (sending) => {
      await approve(payer, token, PRICE - 1n)
      wallet.sending = sending
      const before = await balanceOf(devnet.merchant.address, token)
      await press()
      await paid()
      expect(transactions()).toBe(2)
      expect(await balanceOf(devnet.merchant.address, token)).toBe(before + PRICE)
      expect(tab.complaints).toEqual([])
    },
  )

  it.each([
    ['nothing is approved', 0n, 1],
    ['enough is approved', PRICE, 0],
  ])('asks for no more transactions than it needs where %s', async (_name, approved, expected) => {
    await approve(payer, token, approved)
    await press()
    await paid()
    expect(transactions()).toBe(expected)
  })

  it('is not approved before the earlier approval is gone', async () => {
    await approve(payer, token, 1n)
    wallet.sending = 'lose'
    await page.clock.install()
    await press()
    const waiting = page.getByText('Waiting until the network has confirmed your approval')
    await waiting.waitFor()
    await page.clock.fastForward(60_000)
    await waiting.waitFor()
    expect(transactions()).toBe(1)
    await page.clock.fastForward(125_000)
    await page.getByText('The approval was not confirmed. Nothing was paid.').waitFor()
    expect(transactions()).toBe(1)
    expect(wallet.signed).toEqual([])
    wallet.sending = 'send'
    await press()
    await paid()
  })

  it('tells why it asks first for an approval of nothing', async () => {
    await approve(payer, token, 1n)
    wallet.sending = 'decline'
    await page.evaluate(
      `new MutationObserver(() => (window.seen = (window.seen ?? '') + document.body.innerText)).observe(document.body, { subtree: true, childList: true, characterData: true })`,
    )
    await press()
    await page.getByText('You declined in the wallet. Nothing was paid.').waitFor()
    expect(await page.evaluate('window.seen')).toContain('Withdraw the earlier, smaller allowance')
  })
})
