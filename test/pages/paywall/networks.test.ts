/** Networks that wallets do not know, and that are in no table of ours. */
import { expect, it } from '@jest/globals'
import express from 'express'
import { createGateway } from '../../../src/gateway/gateway.js'
import { openTab } from '../../support/browser.js'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { addWallet, type TestWallet } from '../../support/browser-wallet.js'
import { listen } from '../../support/http.js'
import { useOpened } from '../../support/use-opened.js'

const SECRET = 'secret-provider-key'
const PAYER = {
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  privateKey: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
} as const

const browser = useBrowser()
const gateway = useOpened(() =>
  createGateway({
    networks: {
      'eip155:31337': {
        // No node is asked for a 402.
        rpcUrl: `http://127.0.0.1:1/${SECRET}`,
        relayerKeys: [`0x${'22'.repeat(32)}`],
        assets: [
          {
            ...{ address: `0x${'33'.repeat(20)}`, symbol: 'FOO', decimals: 6, currency: 'USD' },
            eip712: { name: 'Foo', version: '1' },
          },
        ],
      },
    },
    projects: [{ id: 'shop', merchant: { payTo: `0x${'11'.repeat(20)}` } }],
    paywall: { name: 'The shop' },
  }),
)
const server = useOpened(() => {
  const networks = {
    'eip155:31337': {
      ...{ name: 'Example Chain', rpcUrl: 'https://rpc.chain.example' },
      ...{ explorer: 'https://explorer.chain.example/', nativeSymbol: 'EXC' },
    },
  }
  const app = express()
  app.get('/unnamed', gateway.x402Protect('$0.01'))
  app.get('/named', gateway.x402Protect('$0.01', { paywall: { networks } }))
  return listen(app)
})

/** Opens a page with a wallet that knows Ethereum alone, and pays. */
async function pay(path: string) {
  const { page, context } = await openTab(browser)
  const wallet: TestWallet = await addWallet(page, PAYER, { knows: ['0x1'], addsChains: true })
  await page.goto(server.url + path)
  await page.getByRole('button', { name: 'Pay 0.01 FOO with Test Wallet' }).click()
  return { page, context, wallet }
}

withBrowser('a network that the wallet does not know', () => {
  it('is added with the public endpoint of the operator', async () => {
    const { page, wallet } = await pay('/named')
    await page.getByText('cannot take payments at the moment').waitFor()
    expect(wallet.added).toEqual([
      {
        chainId: '0x7a69',
        chainName: 'Example Chain',
        nativeCurrency: { name: 'EXC', symbol: 'EXC', decimals: 18 },
        rpcUrls: ['https://rpc.chain.example'],
        blockExplorerUrls: ['https://explorer.chain.example'],
      },
    ])
    expect(wallet.signed).toHaveLength(1)
    expect(await page.locator('#pay').textContent()).toContain('Example Chain')
    expect(await page.content()).not.toContain(SECRET)
  })

  it('is named with its chain id, to be added by hand, if no endpoint is public', async () => {
    const { page, wallet } = await pay('/unnamed')
    await page.getByText('does not know eip155:31337 (chain id 31337). Add it').waitFor()
    expect([wallet.added, wallet.signed]).toEqual([[], []])
    expect(await page.content()).not.toContain(SECRET)
  })
})
