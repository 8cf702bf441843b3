import { signPayment } from '../../../support/sign-payment.js'
import type { Kind } from '../kind.js'

/** `exact` by ERC-3009, signed by an account's own key. */
export const erc3009: Kind = {
  name: 'erc3009',
  shape: 'eip3009',
  takes: ({ scheme, extra }) =>
    scheme === 'exact' && (extra?.['assetTransferMethod'] ?? 'eip3009') === 'eip3009',
  async pay(payer, entry, { amount, payTo, token, chainId, ...terms }) {
    const payment = await signPayment(
      payer,
      { ...entry, asset: token },
      {
        value: String(amount),
        to: payTo,
        validAfter: String(terms.validAfter),
        validBefore: String(terms.validBefore),
        nonce: terms.nonce,
        domain: { chainId },
      },
    )
    return { ...payment, accepted: { ...entry } }
  },
  parts: {
    uints: ['value', 'validAfter', 'validBefore'].map((name) => `payload.authorization.${name}`),
    addresses: ['from', 'to'].map((name) => `payload.authorization.${name}`),
    words: ['payload.authorization.nonce'],
    signatures: ['payload.signature'],
  },
}
