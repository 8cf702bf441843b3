import { randomBytes } from 'node:crypto'
import { signAuthorization } from '../../crypto/sign-authorization.js'
import { isObject } from '../../protocol/document.js'
import type { Erc3009Payload } from '../../protocol/erc3009.js'
import { PAYMENT_IDENTIFIER } from '../../protocol/payment-identifier.js'
import { X402_VERSION, type Hex, type PaymentPayload } from '../../protocol/payment.js'
import type { PayableOffer } from './choose-offer.js'

/** An offer, the authorization that pays it, and the members of its 402 that a payment repeats. */
export interface SignedOffer {
  readonly offer: PayableOffer
  readonly authorization: Erc3009Payload['authorization']
  readonly offered: { readonly resource?: unknown; readonly extensions?: unknown }
}

/** Signs an authorization and makes the payment. */
export async function signOffer(
  { offer, authorization, offered }: SignedOffer,
  privateKey: Hex,
): Promise<PaymentPayload> {
  const { asset, requirements } = offer
  const domain = {
    ...asset.eip712,
    chainId: asset.network.chainId,
    verifyingContract: asset.address,
  }
  return {
    x402Version: X402_VERSION,
    ...(isObject(offered.resource) && { resource: offered.resource }),
    accepted: { ...requirements },
    payload: { ...(await signAuthorization(authorization, { privateKey, domain })) },
    ...(isObject(offered.extensions) && { extensions: withPaymentId(offered.extensions) }),
  }
}

/** Adds a payment id if the server takes one: then a repeated payment gets the same answer. */
function withPaymentId(extensions: Readonly<Record<string, unknown>>) {
  const offered = extensions[PAYMENT_IDENTIFIER]
  if (!isObject(offered)) return extensions
  const info = isObject(offered['info']) ? offered['info'] : {}
  const id = randomBytes(24).toString('base64url')
  return { ...extensions, [PAYMENT_IDENTIFIER]: { ...offered, info: { ...info, id } } }
}
