import { randomBytes } from 'node:crypto'
import { privateKeyToAccount } from 'viem/accounts'
import {
  X402_VERSION,
  type Address,
  type ExactEvmPayload,
  type Hex,
  type PaymentPayload,
} from '../../protocol/payment.js'
import { AUTHORIZATION_TYPES } from '../../protocol/authorization.js'
import { PAYMENT_IDENTIFIER } from '../../protocol/payment-identifier.js'
import { isObject } from '../../config/resolve/report.js'
import type { PayableOffer } from './choose-offer.js'

/** Longest time in seconds that an authorization is valid, whatever the server asks for. */
const MAX_VALID_SECONDS = 3600

/** Seconds by which the payer's clock may be ahead of the chain's. */
const CLOCK_SECONDS = 600

/** What the payer is about to sign. */
export type Authorization = ExactEvmPayload['authorization']

/** Makes the authorization that pays an offer. */
export function authorizationFor(
  { requirements }: PayableOffer,
  { from, nowSeconds }: { readonly from: Address; readonly nowSeconds: number },
): Authorization {
  const { payTo, amount, maxTimeoutSeconds } = requirements
  return {
    ...{ from, to: payTo, value: amount },
    validAfter: String(nowSeconds - CLOCK_SECONDS),
    validBefore: String(nowSeconds + Math.min(maxTimeoutSeconds, MAX_VALID_SECONDS)),
    nonce: `0x${randomBytes(32).toString('hex')}`,
  }
}

/** The document of a 402, as far as a payment repeats it. */
export interface Offered {
  readonly resource?: unknown
  readonly extensions?: unknown
}

/** Signs an authorization, and puts it into the payment that is presented. */
export async function signOffer(
  {
    offer,
    authorization,
    offered,
  }: {
    readonly offer: PayableOffer
    readonly authorization: Authorization
    readonly offered: Offered
  },
  privateKey: Hex,
): Promise<PaymentPayload> {
  const { asset, requirements } = offer
  const signature = await privateKeyToAccount(privateKey).signTypedData({
    domain: {
      ...asset.eip712,
      chainId: asset.network.chainId,
      verifyingContract: asset.address,
    },
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: authorization.from as Hex,
      to: authorization.to as Hex,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: authorization.nonce as Hex,
    },
  })
  return {
    x402Version: X402_VERSION,
    ...(isObject(offered.resource) && { resource: offered.resource }),
    accepted: { ...requirements },
    payload: { signature, authorization },
    ...(isObject(offered.extensions) && { extensions: withPaymentId(offered.extensions) }),
  }
}

/** Gives the payment an id where the server takes one: presented again, it gets the same answer. */
function withPaymentId(extensions: Readonly<Record<string, unknown>>) {
  const offered = extensions[PAYMENT_IDENTIFIER]
  if (!isObject(offered)) return extensions
  const info = isObject(offered['info']) ? offered['info'] : {}
  const id = randomBytes(24).toString('base64url')
  return { ...extensions, [PAYMENT_IDENTIFIER]: { ...offered, info: { ...info, id } } }
}
