/** Values of the examples: one cent in USDC on Base. */

/** USDC on Base. */
const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

/** Accounts of local development chains, whose keys are public. */
export const MERCHANT_ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const PAYER_ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** An authorization, and the form of a signature. */
export const AUTHORIZATION = {
  from: PAYER_ADDRESS,
  to: MERCHANT_ADDRESS,
  value: '10000',
  validAfter: '0',
  validBefore: '1893456000',
  nonce: `0x${'a1'.repeat(32)}`,
}
export const SIGNATURE = `0x${'5b'.repeat(64)}1b`

/** What the payer chose. */
export const OFFER = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '10000',
  payTo: MERCHANT_ADDRESS,
  maxTimeoutSeconds: 300,
  asset: USDC,
  extra: { name: 'USD Coin', version: '2' },
}
