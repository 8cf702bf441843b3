/** Wallets: those of the browser (EIP-6963), and the page's own with play money. */
import { privateKeyToAccount } from 'viem/accounts'

/** A wallet's provider (EIP-1193). */
export interface Provider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

/** A wallet that has announced itself (EIP-6963). */
export interface Wallet {
  readonly info: { readonly uuid: string; readonly name: string; readonly rdns: string }
  readonly provider: Provider
}

/** Base Sepolia, as which the local chain poses. */
const CHAIN_ID = '0x14a34'

/** Calls back for each wallet that announces itself, now and later. */
export function discover(found: (wallet: Wallet) => void): void {
  const seen = new Set<string>()
  window.addEventListener('eip6963:announceProvider', (event) => {
    const wallet = (event as CustomEvent<Wallet>).detail
    if (seen.has(wallet.info.uuid)) return
    seen.add(wallet.info.uuid)
    found(wallet)
  })
  window.dispatchEvent(new Event('eip6963:requestProvider'))
}

/**
 * Announces a wallet for the local chain. It signs everything without asking, with a public key: no real
 * wallet may do so.
 */
export function offerPlayWallet(privateKey: `0x${string}`): void {
  const account = privateKeyToAccount(privateKey)
  const info = {
    uuid: crypto.randomUUID(),
    name: 'Devnet wallet (play money only)',
    icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>',
    rdns: 'localhost.devnet.wallet',
  }
  const provider: Provider = {
    async request({ method, params = [] }) {
      switch (method) {
        case 'eth_requestAccounts':
        case 'eth_accounts':
          return [account.address]
        case 'eth_chainId':
          return CHAIN_ID
        case 'eth_signTypedData_v4':
          return account.signTypedData(JSON.parse(String(params[1])) as never)
        default:
          throw Object.assign(new Error(`${method} is not supported.`), { code: 4200 })
      }
    },
  }
  const announce = (): void => {
    const detail = Object.freeze({ info, provider })
    window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
  }
  window.addEventListener('eip6963:requestProvider', announce)
  announce()
}

/** Switches the wallet to the local chain, and asks for its account. */
export async function connect(provider: Provider): Promise<`0x${string}`> {
  const [account] = (await provider.request({ method: 'eth_requestAccounts' })) as `0x${string}`[]
  if (account === undefined) throw new Error('The wallet offers no account.')
  const chainId = await provider.request({ method: 'eth_chainId' })
  if (chainId !== CHAIN_ID)
    await provider.request({
      method: 'wallet_switchEthereumChain',
      params: [{ chainId: CHAIN_ID }],
    })
  return account
}
