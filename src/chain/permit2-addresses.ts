/** Contracts of Permit2, at the same addresses on every network that has them. */
import type { Address } from '../protocol/payment.js'

/** Permit2 itself: payers approve their tokens to it, and it uses up their nonces. Lower case. */
export const PERMIT2: Address = '0x000000000022d473030f116ddee9f6b43ac78ba3'

/** The contract of x402 that transfers exactly what was signed. Lower case. */
export const EXACT_PERMIT2_PROXY: Address = '0x402085c248eea27d92e8b30b2c58ed07f9e20001'

/** The contract of x402 that transfers at most what was signed. Lower case. */
export const UPTO_PERMIT2_PROXY: Address = '0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002'
