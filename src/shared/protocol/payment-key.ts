import type { Address, Hex } from './payment.js'

/** Identifies a payment: the nonce that it uses up, never its signature, which can be rewritten. */
export interface PaymentKey {
  readonly chainId: number
  /** The contract that uses up the nonce: the token itself (ERC-3009), or Permit2. */
  readonly contract: Address
  readonly from: Address
  /** 32 bytes. */
  readonly nonce: Hex
}
