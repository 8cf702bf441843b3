/** Wallets of the browser, as EIP-6963 announces them. */
import { useEffect, useState } from 'preact/hooks'

/** EIP-1193. */
export interface Provider {
  request(asked: {
    readonly method: string
    readonly params?: readonly unknown[]
  }): Promise<unknown>
}

export interface Wallet {
  readonly info: { readonly uuid: string; readonly name: string }
  readonly provider: Provider
}

/** The wallets that have announced themselves. */
export function useWallets(): readonly Wallet[] {
  const [wallets, setWallets] = useState<readonly Wallet[]>([])
  useEffect(() => {
    const onAnnounce = (event: Event): void => {
      const wallet = (event as CustomEvent<Partial<Wallet> | null>).detail
      if (typeof wallet?.info?.uuid !== 'string' || wallet.provider === undefined) return
      const { info, provider } = wallet
      setWallets((before) =>
        before.some((one) => one.info.uuid === info.uuid)
          ? before
          : [...before, { info, provider }],
      )
    }
    addEventListener('eip6963:announceProvider', onAnnounce)
    dispatchEvent(new Event('eip6963:requestProvider'))
    return () => removeEventListener('eip6963:announceProvider', onAnnounce)
  }, [])
  return wallets
}
