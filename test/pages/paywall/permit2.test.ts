/** What people buy in a browser with tokens that Permit2 moves, and for a price that is a maximum. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import express from 'express'
import type { Page } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { permit2Of } from '../../tools/devnet/permit2.js'
import { findViolations, openTab, type Tab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { addWallet, type TestWallet } from '../../support/browser-wallet.js'
import { askNode } from '../../support/core.js'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { listen, type TestServer } from '../../support/http.js'
import { toHex } from '../../support/on-chain.js'
import { newNonce } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { openLinkShop } from '../../sell/links/shop.js'

const devnet = useDevnet()
const permit2 = permit2Of(devnet)

type Token = 'permitToken' | 'plainToken' | 'asset'
const PRICE: Readonly<Record<Token, bigint>> = {
  ...{ permitToken: 10n ** 16n, plainToken: 10_000n, asset: 10_000n },
}

/** What the handler of a route with a maximum charges. */
let charge = '$0.0234'

function open(): Record<string, Gateway> {
  const token = (address: string, symbol: string, decimals: number) => ({
    ...{ address, symbol, decimals, currency: 'USD', permit2: true },
  })
  const taking = (...assets: object[]): Gateway => {
    const options = shopOptions(devnet)
    const [network] = Object.values(options.networks ?? {})
    return createGateway({
      ...options,
      networks: { 'base-sepolia': { ...network, assets: assets as never } },
    })
  }
  return {
    sponsored: taking(token(devnet.permitToken, 'PRM', 18)),
    plain: taking(token(devnet.plainToken, 'PLN', 6)),
    both: taking({ asset: 'USDC', permit2: true }),
    upto: taking('USDC' as never),
  }
}

let gateways: Record<string, Gateway>
let server: TestServer
const browser = useBrowser()
const runs: Record<string, number> = {}
beforeAll(async () => {
  gateways = open()
  const app = express()
  app.get('/favicon.ico', (_req, res) => void res.sendStatus(204))
  for (const [name, gateway] of Object.entries(gateways)) {
    // For the merchant, to find payments by the number of a receipt.
    app.use(`/of/${name}`, gateway.gatewayRouter())
    const price = name === 'upto' ? { upTo: '$0.10' } : '$0.01'
    app.get([`/${name}`, `/${name}/page`], gateway.x402Protect(price), (req, res) => {
      runs[req.path] = (runs[req.path] ?? 0) + 1
      if (name === 'upto') paidRequest(req).charge(charge)
      if (req.path.endsWith('/page')) res.type('html').send('<h1>The page</h1>')
      else res.json({ sold: name })
    })
  }
  server = await listen(app)
  // The domain of the token is read once, in the background.
  for (const name of ['sponsored', 'both', 'upto'])
    await until(async () => {
      const response = await fetch(`${server.url}/${name}`)
      return atob(response.headers.get('payment-required') ?? '').includes('eip2612GasSponsoring')
    })
})
afterAll(async () => {
  await server?.close()
  for (const gateway of Object.values(gateways ?? {})) await gateway.close()
})

/** A person with ten of a token, in front of a page. */
interface Person extends Tab {
  readonly wallet: TestWallet
  readonly address: `0x${string}`
}

afterEach(() => {
  charge = '$0.0234'
})

interface MeetOptions {
  readonly token: Token
  /** Whether the account can pay for a transaction. @defaultValue false */
  readonly hasGas?: boolean
  readonly url?: string
}

async function meet(
  path: string,
  { token, hasGas = false, url = server.url + path }: MeetOptions,
): Promise<Person> {
  const privateKey = newNonce()
  const { address } = privateKeyToAccount(privateKey)
  await devnet.mint(address, PRICE[token] * 100n, devnet[token])
  if (hasGas) await askNode(devnet, 'anvil_setBalance', address, toHex(10n ** 18n))
  const tab = await openTab(browser, { expected: /\b4(02|12) \(/ })
  const wallet = await addWallet(tab.page, { address, privateKey }, { rpcUrl: devnet.rpcUrl })
  await tab.page.goto(url)
  return { ...tab, wallet, address }
}

const press = (page: Page, button: RegExp = /^Pay .* with Test Wallet$/) =>
  page.getByRole('button', { name: button }).click()

const earned = (token: Token) => permit2.balanceOf(devnet.merchant.address, devnet[token])

/** What was signed: the primary types. */
const typesOf = ({ signed }: TestWallet) =>
  signed.map((text) => (JSON.parse(text) as { primaryType: string }).primaryType)

async function rowsOf(page: Page): Promise<Record<string, string>> {
  await page.locator('.receipt summary').click()
  const rows = page.locator('.receipt dl > div')
  const entries = await rows.evaluateAll((divs) =>
    (divs as unknown as { children: { firstChild: { textContent: string } }[] }[]).map(
      ({ children }) => [...children].map((child) => child.firstChild.textContent),
    ),
  )
  return Object.fromEntries(entries as [string, string][])
}

withBrowser('a token that Permit2 moves', () => {
  it('is sold to an account without gas money, which signs its approval', async () => {
    const before = await earned('permitToken')
    const { page, wallet, complaints } = await meet('/sponsored', { token: 'permitToken' })
    await page.getByText('sign that Permit2 may take 0.01 PRM').waitFor()
    await page.getByText('You pay no network fee.').waitFor()
    expect(await page.getByText(/you pay it/).count()).toBe(0)
    await press(page)
    await page.getByText('Paid. This is what you bought:').waitFor()
    expect(typesOf(wallet)).toEqual(['Permit', 'PermitWitnessTransferFrom'])
    expect(wallet.asked).not.toContain('eth_sendTransaction')
    expect((await earned('permitToken')) - before).toBe(PRICE.permitToken)
    const rows = await rowsOf(page)
    expect(await isKnown('sponsored', rows)).toBe(true)
    expect(rows).toMatchObject({
      Amount: '0.01 PRM on Base Sepolia',
      'Transaction hash': expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(await findViolations(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('is approved in a transaction if its approvals cannot be signed, and for no more than the price', async () => {
    const before = await earned('plainToken')
    const { page, wallet, address, complaints } = await meet('/plain', {
      ...{ token: 'plainToken', hasGas: true },
    })
    await page.getByText('to take 0.01 PLN (network fee: you pay it, in ETH). Step 2').waitFor()
    expect(await page.getByText('You pay no network fee').count()).toBe(0)
    await press(page)
    await page.getByText('Paid. This is what you bought:').waitFor()
    expect(typesOf(wallet)).toEqual(['PermitWitnessTransferFrom'])
    expect((await earned('plainToken')) - before).toBe(PRICE.plainToken)
    expect(await allowanceOf(address, 'plainToken')).toBe(0n)
    expect(await isKnown('plain', await rowsOf(page))).toBe(true)
    expect(complaints).toEqual([])
  })

  it.each(['nothing', 'enough for a transfer only'])(
    'is not approved by an account without gas money, which is told before the wallet is asked: %s',
    async (held) => {
      const { page, wallet, address, complaints } = await meet('/plain', { token: 'plainToken' })
      const price = BigInt(await askNode<`0x${string}`>(devnet, 'eth_gasPrice'))
      if (held !== 'nothing')
        await askNode(devnet, 'anvil_setBalance', address, toHex(price * 30_000n))
      await press(page)
      await page
        .getByText('your account needs some ETH on Base Sepolia for the network fee')
        .waitFor()
      expect(wallet.asked).not.toContain('eth_sendTransaction')
      expect(complaints).toEqual([])
    },
  )

  it('is approved also by a transaction that the wallet sends in place of the first', async () => {
    const { page, wallet } = await meet('/plain', { token: 'plainToken', hasGas: true })
    wallet.sending = 'replace'
    await press(page)
    await page.getByText('Paid. This is what you bought:').waitFor()
    expect(typesOf(wallet)).toEqual(['PermitWitnessTransferFrom'])
  })

  it('asks for no approval that is there already', async () => {
    const { page, wallet, address } = await meet('/plain', { token: 'plainToken' })
    await permit2.approve(address, devnet.plainToken)
    await press(page)
    await page.getByText('Paid. This is what you bought:').waitFor()
    expect(wallet.asked).not.toContain('eth_sendTransaction')
    expect(typesOf(wallet)).toEqual(['PermitWitnessTransferFrom'])
  })

  it('is not paid for if the approval is declined, by signature or transaction', async () => {
    const plain = await meet('/plain', { token: 'plainToken', hasGas: true })
    plain.wallet.sending = 'decline'
    await press(plain.page)
    await plain.page.getByText('You declined in the wallet. Nothing was paid.').waitFor()
    expect(plain.wallet.signed).toEqual([])
    await plain.context.close()
    const { page, wallet } = await meet('/sponsored', { token: 'permitToken' })
    wallet.behaviour = 'decline'
    await press(page)
    await page.getByText('You declined in the wallet. Nothing was paid.').waitFor()
    expect(wallet.signed).toEqual([])
    wallet.behaviour = 'sign'
    await press(page)
    await page.getByText('Paid. This is what you bought:').waitFor()
  })

  it('is not paid for if the approval fails, or is not confirmed, and can be tried again', async () => {
    const { page, wallet } = await meet('/plain', { token: 'plainToken', hasGas: true })
    wallet.sending = 'revert'
    await press(page)
    await page.getByText('The approval was not confirmed. Nothing was paid.').waitFor()
    wallet.sending = 'lose'
    await page.clock.install()
    await press(page)
    await page.getByText('Waiting until the network has confirmed your approval').waitFor()
    expect(await page.getByText('The approval was not confirmed').count()).toBe(0)
    await page.clock.fastForward(179_000)
    await page.getByText('Waiting until the network has confirmed your approval').waitFor()
    await page.clock.fastForward(5000)
    await page.getByText('The approval was not confirmed. Nothing was paid.').waitFor()
    expect(wallet.signed).toEqual([])
    wallet.sending = 'send'
    await press(page)
    await page.getByText('Paid. This is what you bought:').waitFor()
  })

  it('that another payment has used up the approval of is approved again', async () => {
    const { page, wallet, address, complaints } = await meet('/plain', {
      ...{ token: 'plainToken', hasGas: true },
    })
    await permit2.approve(address, devnet.plainToken)
    wallet.behaviour = 'wait'
    await press(page)
    await page.getByText('Sign in Test Wallet.').waitFor()
    await permit2.approve(address, devnet.plainToken, 0n)
    wallet.behaviour = 'sign'
    await page.getByText('Permit2 is not allowed to take this amount, and nothing was').waitFor()
    expect(await page.evaluate('localStorage.length')).toBe(0)
    await press(page)
    await page.getByText('Paid. This is what you bought:').waitFor()
    expect(wallet.asked).toContain('eth_sendTransaction')
    expect(runs['/plain']).toBeGreaterThan(0)
    expect(complaints).toEqual([])
  })

  it('pays a payment link', async () => {
    const shop = await openLinkShop(devnet, {
      networks: {
        'base-sepolia': {
          ...{ rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys },
          assets: [
            {
              ...{ address: devnet.plainToken, symbol: 'PLN', decimals: 6, currency: 'USD' },
              permit2: true,
            },
          ],
        },
      },
    })
    const link = await shop.link({ description: 'Two books' })
    const before = await earned('plainToken')
    const { page } = await meet('', { token: 'plainToken', hasGas: true, url: link.url })
    await press(page, /^Pay 0\.05 PLN with Test Wallet$/)
    await page.getByText(/^Paid\. \$0\.05 to /).waitFor()
    expect((await earned('plainToken')) - before).toBe(50_000n)
    expect((await shop.read(link)).status).toBe('paid')
    await shop.close()
  })

  it('and moves by ERC-3009 as well is offered by that first, and the ways are told apart', async () => {
    const { page, wallet } = await meet('/both', { token: 'asset' })
    const ways = page.locator('fieldset label')
    expect(await ways.allTextContents()).toEqual([
      '0.01 USDC on Base Sepolia (TEST: no real money)',
      '0.01 USDC on Base Sepolia · Permit2 (TEST: no real money)',
    ])
    expect(await page.getByText('Permit2 may take').count()).toBe(0)
    await ways.nth(1).click()
    await page.getByText('sign that Permit2 may take 0.01 USDC').waitFor()
    await press(page)
    await page.getByText('Paid. This is what you bought:').waitFor()
    expect(typesOf(wallet)).toEqual(['Permit', 'PermitWitnessTransferFrom'])
  })
})

withBrowser('a price that is a maximum', () => {
  it('is shown as one, and the receipt tells what was charged', async () => {
    const before = await earned('asset')
    const { page, complaints } = await meet('/upto', { token: 'asset' })
    expect(await page.locator('p.price').textContent()).toContain('up to $0.10')
    await page.getByText('up to 0.10 USDC on Base Sepolia').first().waitFor()
    await page.getByText('once: the seller takes what you used').waitFor()
    await press(page, /^Pay up to 0\.10 USDC with Test Wallet$/)
    await page.getByText('Paid. This is what you bought:').waitFor()
    expect((await earned('asset')) - before).toBe(23_400n)
    const rows = await rowsOf(page)
    expect(await isKnown('upto', rows)).toBe(true)
    expect(rows).toMatchObject({
      Price: 'up to $0.10',
      Amount: '0.0234 USDC on Base Sepolia',
    })
    expect(await findViolations(page)).toEqual([])
    await page.reload()
    await press(page, /^Show it again$/)
    await page.getByText('Paid. This is what you bought:').waitFor()
    expect((await rowsOf(page))['Amount']).toBe('0.0234 USDC on Base Sepolia')
    expect((await earned('asset')) - before).toBe(23_400n)
    expect(complaints).toEqual([])
  })

  it('has a receipt of what was charged for a page, too', async () => {
    charge = '$0.0234'
    const { page } = await meet('/upto/page', { token: 'asset' })
    await press(page)
    await page.getByRole('heading', { name: 'The page' }).waitFor()
    await page.evaluate(`{
      const link = document.createElement('a')
      Object.assign(link, { href: '', textContent: 'Receipt' })
      document.body.append(link)
    }`)
    await page.getByRole('link', { name: 'Receipt' }).click()
    expect((await rowsOf(page))['Amount']).toBe('0.0234 USDC on Base Sepolia')
  })

  it.each(['', '/page'])(
    'of which nothing is charged delivers all the same (upto%s)',
    async (path) => {
      charge = '$0'
      const before = await earned('asset')
      const runsBefore = runs[`/upto${path}`] ?? 0
      const { page, complaints } = await meet(`/upto${path}`, { token: 'asset' })
      await press(page)
      if (path === '') {
        await page.getByText('Received. The seller reported no charge.').waitFor()
        expect(await page.locator('.receipt').count()).toBe(0)
      } else await page.getByRole('heading', { name: 'The page' }).waitFor()
      expect(runs[`/upto${path}`]).toBe(runsBefore + 1)
      // Nothing was bought, so nothing is kept.
      await page.goto(`${server.url}/upto${path}`)
      await page.getByRole('button', { name: /^Pay up to/ }).waitFor()
      expect(await page.evaluate('localStorage.length')).toBe(0)
      expect(await earned('asset')).toBe(before)
      expect(complaints).toEqual([])
    },
  )
})

/** Whether the merchant finds the payment of a receipt by its number. */
async function isKnown(name: string, rows: Record<string, string>): Promise<boolean> {
  const url = `${server.url}/of/${name}/api/v2/merchant/settlements/${rows['Number']}`
  const response = await fetch(url, { headers: { 'X-Project-Identify-Token': SHOP_TOKEN } })
  const { transaction } = (await response.json()) as { transaction?: string }
  return response.ok && transaction === rows['Transaction hash']
}

async function allowanceOf(owner: `0x${string}`, token: Token): Promise<bigint> {
  const word = (address: string) => address.slice(2).toLowerCase().padStart(64, '0')
  const data = `0xdd62ed3e${word(owner)}${word(devnet.permit2)}`
  return BigInt(
    await askNode<`0x${string}`>(devnet, 'eth_call', { to: devnet[token], data }, 'latest'),
  )
}
