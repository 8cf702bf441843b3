import { useEffect, useState } from 'preact/hooks'
import { callProvider, ProviderFailure, type Provider } from '../../../browser/provider.js'

/** The account that a wallet would pay from; `undefined` if it shares none yet. The wallet does not ask. */
export function useAccount(provider: Provider): string | undefined {
  const [account, setAccount] = useState<string>()
  useEffect(() => {
    const read = (): void => {
      callProvider(provider, 'eth_accounts').then(
        (accounts) => setAccount(firstOf(accounts)),
        () => undefined,
      )
    }
    read()
    provider.on?.('accountsChanged', read)
    return () => provider.removeListener?.('accountsChanged', read)
  }, [provider])
  return account
}

function firstOf(accounts: unknown): string | undefined {
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  return typeof first === 'string' ? first : undefined
}

/** Lets the buyer choose another account (EIP-2255). @returns Whether the wallet can do so. */
export async function chooseAccount(provider: Provider): Promise<boolean> {
  try {
    await callProvider(provider, 'wallet_requestPermissions', [{ eth_accounts: {} }])
    return true
  } catch (error) {
    return error instanceof ProviderFailure && error.kind === 'declined'
  }
}
