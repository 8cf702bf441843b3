import type { Address } from '../../shared/protocol/payment.js'

/**
 * Who has signed in for a request.
 *
 * @example
 * ```ts
 * import type { SignedIn } from 'express-x402-gateway'
 *
 * const keyOf = ({ address, chainId, isContract }: SignedIn): string =>
 *   isContract ? `${chainId} ${address}` : address
 * ```
 */
export interface SignedIn {
  /** With the checksum of ERC-55. */
  readonly address: Address
  /** Id of the network that it signed for, CAIP-2. */
  readonly chainId: string
  /** Whether a contract account signed. It may be somebody else's on another chain; a key is the same on all. */
  readonly isContract: boolean
}
