/** The buyer's side of a payment by Permit2, signed with a private key. */
import { randomBytes } from 'node:crypto'
import type { Address, Hex, PaymentRequirements } from '../protocol/payment.js'
import {
  approvalTypedData,
  permit2Authorization,
  permit2TypedData,
  sponsoredApproval,
  type Permit2Authorization,
} from '../protocol/typed-data.js'
import { signTypedData } from './sign-typed-data.js'

/** Makes the authorization that pays an offer, with a random nonce. With `upto`, it is for a maximum. */
export function permit2AuthorizationFor(
  offer: PaymentRequirements,
  from: Address,
): Permit2Authorization {
  const nonce = BigInt(`0x${randomBytes(32).toString('hex')}`)
  const deadline = Math.floor(Date.now() / 1000) + offer.maxTimeoutSeconds
  return permit2Authorization(offer, { from, nonce, deadline })
}

/** Signs it. @returns `payload` of the payment */
export async function signPermit2(
  authorization: Permit2Authorization,
  { privateKey, chainId }: { readonly privateKey: Hex; readonly chainId: number },
) {
  const signature = await signTypedData(permit2TypedData(authorization, chainId), privateKey)
  return { signature, permit2Authorization: authorization }
}

/** An approval of Permit2 that a payment brings (EIP-2612), and the domain of its token. */
export interface ApprovalToSign {
  readonly authorization: Permit2Authorization
  /** The payer's next one at the token. */
  readonly nonce: bigint
  readonly domain: { readonly name: string; readonly version: string; readonly chainId: number }
}

/** Signs it, as the extension `eip2612GasSponsoring` carries it. */
export async function signApproval(
  { authorization: { from, permitted, deadline }, nonce, domain }: ApprovalToSign,
  privateKey: Hex,
) {
  const { token: asset, amount } = permitted
  const approval = { from, asset, amount, nonce: nonce.toString(), deadline }
  const signature = await signTypedData(approvalTypedData(approval, domain), privateKey)
  return sponsoredApproval(approval, signature)
}
