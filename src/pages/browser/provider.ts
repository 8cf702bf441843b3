/** A wallet's provider (EIP-1193). */
export interface Provider {
  request(asked: {
    readonly method: string
    readonly params?: readonly unknown[]
  }): Promise<unknown>
  on?(event: string, listener: () => void): unknown
  removeListener?(event: string, listener: () => void): unknown
}

/** Codes of EIP-1193 and of wallets. */
const USER_REJECTED = 4001
const UNKNOWN_CHAIN = 4902
const INTERNAL_ERROR = -32_603

/** Why a wallet refused a request. */
export class ProviderFailure extends Error {
  constructor(
    readonly kind: 'declined' | 'unknown_chain' | 'other',
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
    const code = codeOf(error)
    if (code === USER_REJECTED) throw new ProviderFailure('declined', messageOf(error))
    if (code === UNKNOWN_CHAIN) throw new ProviderFailure('unknown_chain', messageOf(error))
    throw new ProviderFailure('other', messageOf(error))
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
