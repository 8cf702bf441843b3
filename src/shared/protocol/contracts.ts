/** Contracts that are at the same addresses on every network that has them. */

/** Makes several calls in one. */
export const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Payers approve their tokens to it, and sign each transfer. */
export const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

/** The contracts of x402 that Permit2 lets move tokens, by scheme. */
export const PERMIT2_SPENDERS = {
  exact: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
  upto: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
} as const
