import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { callProvider, firstAccount, ProviderFailure, type Provider } from '../browser/provider.js'

/**
 * Reads the account of a wallet, which does not ask its owner for that.
 *
 * @param onOther - Called when another account takes the place of a known one.
 * @returns Its address, `undefined` if the wallet shares none yet.
 */
export function useAccount(provider: Provider, onOther: () => void) {
  const [address, setAddress] = useState<string>()
  const knownRef = useRef(address)
  useEffect(() => {
    if (knownRef.current !== undefined && knownRef.current !== address) onOther()
    knownRef.current = address
  }, [address, onOther])
  const read = useCallback((): void => {
    callProvider(provider, 'eth_accounts').then(
      (accounts) => setAddress(firstAccount(accounts)),
      () => undefined,
    )
  }, [provider])
  useEffect(() => {
    read()
    provider.on?.('accountsChanged', read)
    return () => provider.removeListener?.('accountsChanged', read)
  }, [provider, read])
  /** Lets the buyer choose another account (EIP-2255). @returns Whether the wallet can ask for one. */
  const choose = async (): Promise<boolean> => {
    const canAsk = await requestAccount(provider)
    read()
    return canAsk
  }
  return { address, choose }
}

async function requestAccount(provider: Provider): Promise<boolean> {
  try {
    await callProvider(provider, 'wallet_requestPermissions', [{ eth_accounts: {} }])
    return true
  } catch (error) {
    return error instanceof ProviderFailure && error.kind === 'declined'
  }
}
