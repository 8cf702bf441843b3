/** Asks a wallet to sign a token transfer: ERC-3009 `TransferWithAuthorization`, as EIP-712. */
import { DOMAIN_TYPE, transferTypedData, type TypedData } from '../../shared/protocol/typed-data.js'
import { callProvider, ProviderFailure, type Provider } from './provider.js'

/** The transfer, and the token's EIP-712 domain. */
export interface Transfer {
  readonly from: string
  readonly chainId: number
  /** Contract of the token. */
  readonly asset: string
  readonly payTo: string
  /** Atomic units. */
  readonly amount: string
  readonly extra?: { readonly [member: string]: unknown } | null | undefined
  /** Unix seconds. */
  readonly validAfter: number
  /** Unix seconds. */
  readonly validBefore: number
}

/**
 * Asks for the signature of a transfer with a random nonce.
 *
 * @returns The payload of x402's scheme `exact`, and what names the payment; `undefined` if the wallet returns no
 * signature.
 * @throws `ProviderFailure`
 */
export async function signTransfer(provider: Provider, transfer: Transfer) {
  const { from, chainId, asset, payTo, amount, extra, validAfter, validBefore } = transfer
  const authorization = {
    from,
    to: payTo,
    value: amount,
    validAfter: String(validAfter),
    validBefore: String(validBefore),
    nonce: `0x${randomHex(32)}`,
  }
  const [name, version] = [extra?.['name'], extra?.['version']]
  const domain = { name, version, chainId, verifyingContract: asset }
  const typedData = transferTypedData(authorization, domain)
  const signature = await signTypedData(provider, from, typedData)
  if (signature === undefined) return undefined
  const key = { contract: asset, nonce: authorization.nonce }
  return { payload: { signature, authorization }, key }
}

/** Asks for the signature of typed data (EIP-712). @returns `undefined` if there is none. @throws `ProviderFailure` */
export async function signTypedData(
  provider: Provider,
  from: string,
  { domain, types, primaryType, message }: TypedData,
): Promise<string | undefined> {
  const EIP712Domain = DOMAIN_TYPE.filter(({ name }) => name in domain)
  const typedData = { domain, types: { EIP712Domain, ...types }, primaryType, message }
  const params = [from, JSON.stringify(typedData)]
  const signature = await callProvider(provider, 'eth_signTypedData_v4', params)
  return typeof signature === 'string' ? signature : undefined
}

/** The wallet's first account; `undefined` if it shares none. @throws `ProviderFailure` */
export async function findFirstAccount(provider: Provider): Promise<string | undefined> {
  const accounts = await callProvider(provider, 'eth_requestAccounts')
  const account: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  return typeof account === 'string' ? account : undefined
}

/**
 * Switches a wallet to a chain, and adds it if the wallet does not know it (EIP-3085).
 *
 * @param facts - Facts of the chain; without them, it is not added.
 * @returns Whether the wallet is on the chain.
 * @throws `ProviderFailure`
 */
export async function switchChain(
  provider: Provider,
  id: number,
  facts?: object,
): Promise<boolean> {
  const chainId = `0x${id.toString(16)}`
  const isThere = async (): Promise<boolean> =>
    String(await callProvider(provider, 'eth_chainId')).toLowerCase() === chainId
  const change = (): Promise<unknown> =>
    callProvider(provider, 'wallet_switchEthereumChain', [{ chainId }])
  if (await isThere()) return true
  try {
    await change()
  } catch (error) {
    if (!(error instanceof ProviderFailure) || error.kind !== 'unknown_chain') throw error
    if (facts === undefined) return false
    await callProvider(provider, 'wallet_addEthereumChain', [facts])
    // Not all wallets switch after adding.
    if (!(await isThere())) await change()
  }
  return isThere()
}

/** Random bytes in hexadecimal, without `0x`. */
export function randomHex(bytes: number): string {
  return hexOf(crypto.getRandomValues(new Uint8Array(bytes)))
}

/** Bytes in hexadecimal, without `0x`. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
