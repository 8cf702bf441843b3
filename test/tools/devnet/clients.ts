import {
  createPublicClient,
  createWalletClient,
  type Hex,
  http,
  type HttpTransport,
  type PrivateKeyAccount,
  type PublicClient,
  type WalletClient,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'

/** viem with its own definition of Base Sepolia, as an unsuspecting app would use it. */
export function publicClient(rpcUrl: string): PublicClient<HttpTransport, typeof baseSepolia> {
  return createPublicClient({
    chain: baseSepolia,
    transport: http(rpcUrl, { retryCount: 0 }),
    pollingInterval: 10,
    cacheTime: 0,
  })
}

export function walletClient(
  rpcUrl: string,
  privateKey: Hex,
): WalletClient<HttpTransport, typeof baseSepolia, PrivateKeyAccount> {
  return createWalletClient({
    account: privateKeyToAccount(privateKey),
    chain: baseSepolia,
    transport: http(rpcUrl, { retryCount: 0 }),
  })
}
