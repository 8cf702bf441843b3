import { useEffect, useState } from 'preact/hooks'
import type { Provider } from '../browser/provider.js'
import { useWallets, type Wallet } from '../browser/use-wallets.js'
import { text } from './texts.js'

/** How long to wait for wallets to announce themselves (ms): they do so at once or never. */
const ANNOUNCED_MS = 300

/** The wallets of the browser; `undefined` while waiting for them. */
export function usePayers(): readonly Wallet[] | undefined {
  const announced = useWallets()
  const [injected, setInjected] = useState<readonly Wallet[]>()
  useEffect(() => {
    const timer = setTimeout(() => setInjected(injectedWallet()), ANNOUNCED_MS)
    return () => clearTimeout(timer)
  }, [])
  return announced.length > 0 ? announced : injected
}

/** Id of a wallet older than EIP-6963, which has no name. */
export const INJECTED = 'injected'

function injectedWallet(): readonly Wallet[] {
  const { ethereum } = globalThis as { readonly ethereum?: Provider }
  if (typeof ethereum?.request !== 'function') return []
  const info = { uuid: INJECTED, name: text('browserWallet'), icon: '' }
  return [{ info, provider: ethereum }]
}
