/** A wallet of the browser, as EIP-6963 announces it, which signs with a key of the devnet. */
import type { Page } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import type { DevnetAccount } from '../../../src/devnet/index.js'

/** What a wallet was asked. */
export interface TestWallet {
  readonly asked: readonly string[]
  /** What it does when asked to sign. @defaultValue 'sign' */
  behaviour: 'sign' | 'decline'
}

/** Puts a wallet into every page that the tab loads from now on. It begins on another chain. */
export async function addWallet(page: Page, account: DevnetAccount): Promise<TestWallet> {
  const asked: string[] = []
  const wallet: { asked: string[]; behaviour: TestWallet['behaviour'] } = {
    asked,
    behaviour: 'sign',
  }
  const key = privateKeyToAccount(account.privateKey)
  let chainId = '0x1'
  const answers: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    eth_requestAccounts: () => [account.address.toLowerCase()],
    eth_chainId: () => chainId,
    wallet_switchEthereumChain: ([wanted]) => {
      chainId = (wanted as { chainId: string }).chainId
      return null
    },
    eth_signTypedData_v4: ([signer, text]) => {
      if (String(signer).toLowerCase() !== account.address.toLowerCase())
        throw new Error('another account')
      const typedData = JSON.parse(String(text)) as Parameters<typeof key.signTypedData>[0]
      return key.signTypedData(typedData)
    },
  }
  await page.exposeFunction('askWallet', async (method: string, params: readonly unknown[]) => {
    asked.push(method)
    if (method === 'eth_signTypedData_v4' && wallet.behaviour === 'decline')
      return { error: { code: 4001, message: 'User rejected the request.' } }
    return { result: await answers[method]?.(params) }
  })
  await page.addInitScript(`{
    const provider = {
      async request({ method, params = [] }) {
        const { result, error } = await askWallet(method, params)
        if (error) throw Object.assign(new Error(error.message), error)
        return result
      },
    }
    const info = { uuid: 'f00d', name: 'Test Wallet', rdns: 'example.wallet', icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>' }
    const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
    addEventListener('eip6963:requestProvider', announce)
    announce()
  }`)
  return wallet
}
