import type { Address, Hex } from './payment.js'

/** Identifies a payment by what makes it unique on its chain: parsed values, never its signature. */
export interface PaymentKey {
  /** Numeric chain id, e.g. 8453. */
  readonly chainId: number
  /** Address of the contract that burns the nonce: for ERC-3009 the token, for Permit2 Permit2. */
  readonly contract: Address
  /** Address of the payer. */
  readonly from: Address
  /** The payer's nonce, 32 bytes. */
  readonly nonce: Hex
}
