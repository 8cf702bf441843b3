import { randomBytes } from 'node:crypto'
import { authorizationFor, signAuthorization } from '../../../shared/crypto/sign-authorization.js'
import { permit2AuthorizationFor, signPermit2 } from '../../../shared/crypto/sign-permit2.js'
import { isObject } from '../../../shared/protocol/document.js'
import { PAYMENT_IDENTIFIER } from '../../../shared/protocol/payment-identifier.js'
import {
  X402_VERSION,
  type Address,
  type Hex,
  type PaymentPayload,
} from '../../../shared/protocol/payment.js'
import { isPermit2 } from '../../../shared/protocol/same-offer.js'
import type { PayableOffer } from './choose-offer.js'

/** What is about to be signed. */
export interface Unsigned {
  /** Primary type of the typed data (EIP-712). */
  readonly type: string
  /** Unix seconds. */
  readonly validBefore: string
  readonly nonce: string
  /** Signs it. @returns `payload` of the payment */
  readonly sign: (privateKey: Hex) => Promise<object>
}

/** Makes the authorization that pays an offer. */
export function prepare({ requirements, asset }: PayableOffer, from: Address): Unsigned {
  const { chainId } = asset.network
  if (isPermit2(requirements)) {
    const authorization = permit2AuthorizationFor(requirements, from)
    const { deadline: validBefore, nonce } = authorization
    const sign = (privateKey: Hex) => signPermit2(authorization, { privateKey, chainId })
    return { type: 'PermitWitnessTransferFrom', validBefore, nonce, sign }
  }
  const authorization = authorizationFor(requirements, from)
  const { validBefore, nonce } = authorization
  const domain = { ...asset.eip712, chainId, verifyingContract: asset.address }
  const sign = (privateKey: Hex) => signAuthorization(authorization, { privateKey, domain })
  return { type: 'TransferWithAuthorization', validBefore, nonce, sign }
}

/** The members of a 402 that a payment repeats. */
export interface Offered {
  readonly resource?: unknown
  readonly extensions?: unknown
}

/** Makes the payment. */
export function paymentOf(
  { requirements }: PayableOffer,
  payload: object,
  { resource, extensions }: Offered,
): PaymentPayload {
  return {
    x402Version: X402_VERSION,
    ...(isObject(resource) && { resource }),
    accepted: { ...requirements },
    payload: { ...payload },
    ...(isObject(extensions) && { extensions: withPaymentId(extensions) }),
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
