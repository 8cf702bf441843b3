import { DOMAIN_TYPE, type TypedData } from '../../shared/protocol/typed-data.js'

/** A wallet's provider (EIP-1193). */
export interface Provider {
  request(asked: {
    readonly method: string
    readonly params?: readonly unknown[]
  }): Promise<unknown>
  on?(event: string, listener: () => void): unknown
  removeListener?(event: string, listener: () => void): unknown
}

/** Codes of EIP-1193 and of wallets. A wallet that still waits for its owner's last answer is busy (EIP-1474). */
const KINDS = new Map<unknown, ProviderFailure['kind']>([
  [4001, 'declined'],
  [4100, 'locked'],
  [4902, 'unknown_chain'],
  [-32_002, 'busy'],
])
const INTERNAL_ERROR = -32_603

/** Why a wallet refused a request. */
export class ProviderFailure extends Error {
  constructor(
    readonly kind: 'declined' | 'locked' | 'unknown_chain' | 'busy' | 'other',
    message: string,
  ) {
    super(message)
  }
}

/** Asks a wallet. @throws {@link ProviderFailure} */
export async function callProvider(
  provider: Provider,
  method: string,
  params: readonly unknown[] = [],
): Promise<unknown> {
  try {
    return await provider.request({ method, params })
  } catch (error) {
    throw new ProviderFailure(KINDS.get(codeOf(error)) ?? 'other', messageOf(error))
  }
}

/** Compares addresses; their case is only a checksum. */
export const sameAddress = (one: string, other: string): boolean =>
  one.toLowerCase() === other.toLowerCase()

interface ErrorLike {
  readonly code?: unknown
  readonly message?: unknown
  readonly data?: { readonly originalError?: { readonly code?: unknown } }
}

/** Some mobile wallets wrap the error in an internal one. */
function codeOf(error: unknown): unknown {
  const { code, data } = (error ?? {}) as ErrorLike
  return code === INTERNAL_ERROR ? (data?.originalError?.code ?? code) : code
}

function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as ErrorLike
  return typeof message === 'string' ? message : 'no reason given.'
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
export const findFirstAccount = async (provider: Provider): Promise<string | undefined> =>
  firstAccount(await callProvider(provider, 'eth_requestAccounts'))

/** The first of the accounts that a wallet has answered. */
export function firstAccount(accounts: unknown): string | undefined {
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  return typeof first === 'string' ? first : undefined
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
