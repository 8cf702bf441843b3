/**
 * The example payment of both documents: $15.00 for two books, in USDC on Base.
 *
 * The signature is a real one over {@link exampleTypedData}, so that wallet developers can compare
 * theirs with it. Its key is a public one of local development chains.
 */
import { EXACT, X402_VERSION } from '../../protocol/payment.js'
import { INSTRUMENT_TYPE, type Handler } from '../handler.js'

/** The checkout that is paid for. */
export const EXAMPLE_RESOURCE = {
  url: 'https://shop.example/ucp/v1/checkout-sessions/chk_42',
  description: 'Two books',
}

/** Chain id of Base (EIP-155). */
const CHAIN_ID = 8453

const AUTHORIZATION = {
  from: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  to: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  value: '15000000',
  validAfter: '0',
  validBefore: '1795262700',
  nonce: '0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480',
}

const SIGNATURE =
  '0x5f5dbe0fb92eee98136c93c36333f47ce66221d6dd337303e718c98da8d27f75' +
  '4cbc18b6d1a45098181112c170663831610569173e5453de48eaf92f320d29201c'

/** Hash of the settling transaction. */
const EXAMPLE_TRANSACTION = '0x9a5e9d5f1b6a0d6c3f0b8e4c7d2a1f3e5b7c9d0e2f4a6b8c0d1e3f5a7b9c1d3e'

type Style = Pick<Handler, 'networkNames'>

/** The entry of `accepts` that the platform chooses. */
export function exampleRequirement({ networkNames }: Style) {
  return {
    scheme: EXACT,
    network: networkNames === 'short' ? 'base' : `eip155:${CHAIN_ID}`,
    amount: AUTHORIZATION.value,
    payTo: AUTHORIZATION.to,
    maxTimeoutSeconds: 300,
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    extra: { name: 'USD Coin', version: '2' },
  }
}

/** `config` of the checkout's handler entry. */
export function exampleOffer(style: Style) {
  return {
    x402Version: X402_VERSION,
    resource: EXAMPLE_RESOURCE,
    accepts: [exampleRequirement(style)],
  }
}

/** What the payer's wallet signs (EIP-712). */
export function exampleTypedData(style: Style) {
  const { asset, extra } = exampleRequirement(style)
  return {
    domain: { ...extra, chainId: CHAIN_ID, verifyingContract: asset },
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'TransferWithAuthorization',
    message: AUTHORIZATION,
  }
}

/** The signed payment. */
export function examplePayload(style: Style) {
  return {
    x402Version: X402_VERSION,
    resource: EXAMPLE_RESOURCE,
    accepted: exampleRequirement(style),
    payload: { signature: SIGNATURE, authorization: AUTHORIZATION },
  }
}

/** Body of verify and settle. */
export function exampleSubmission(style: Style) {
  return {
    x402Version: X402_VERSION,
    paymentPayload: examplePayload(style),
    paymentRequirements: exampleRequirement(style),
  }
}

/** The instrument with which the platform completes the checkout. */
export function exampleInstrument({ id, networkNames }: Pick<Handler, 'id' | 'networkNames'>) {
  return {
    id: 'instrument_1',
    handler_id: id,
    type: INSTRUMENT_TYPE,
    selected: true,
    credential: { type: INSTRUMENT_TYPE, ...exampleSubmission({ networkNames }) },
  }
}

/** Response of settle. */
export function exampleSettlement(style: Style) {
  return {
    success: true,
    payer: AUTHORIZATION.from,
    transaction: EXAMPLE_TRANSACTION,
    network: exampleRequirement(style).network,
  }
}

/** Response of settle when the payer has not enough of the token. */
export function exampleRefusal(style: Style) {
  return {
    success: false,
    errorReason: 'insufficient_funds',
    payer: AUTHORIZATION.from,
    transaction: '',
    network: exampleRequirement(style).network,
  }
}
