/** Wallets of the browser, as EIP-6963 announces them. */
import { useEffect, useState } from 'preact/hooks'
import type { Provider } from './provider.js'

export interface Wallet {
  readonly info: Readonly<Record<'uuid' | 'name' | 'icon', string>>
  readonly provider: Provider
}

/** The wallets that have announced themselves. */
export function useWallets(): readonly Wallet[] {
  const [wallets, setWallets] = useState<readonly Wallet[]>([])
  useEffect(() => {
    const onAnnounce = (event: Event): void => {
      const wallet = (event as CustomEvent<unknown>).detail
      if (!isWallet(wallet)) return
      setWallets((before) =>
        before.some(({ info }) => info.uuid === wallet.info.uuid) ? before : [...before, wallet],
      )
    }
    addEventListener('eip6963:announceProvider', onAnnounce)
    dispatchEvent(new Event('eip6963:requestProvider'))
    return () => removeEventListener('eip6963:announceProvider', onAnnounce)
  }, [])
  return wallets
}

function isWallet(detail: unknown): detail is Wallet {
  const wallet = detail as Partial<Wallet> | null | undefined
  return (
    typeof wallet?.info?.uuid === 'string' &&
    typeof wallet.info.name === 'string' &&
    typeof wallet.info.icon === 'string' &&
    typeof wallet.provider?.request === 'function'
  )
}
