/** What a buyer signs to pay an offer, with a key that a wallet or the program holds. In browsers, too. */
import { PERMIT2 } from './contracts.js'
import { randomHex } from './random-hex.js'
import {
  approvalTypedData,
  permit2Authorization,
  permit2TypedData,
  transferTypedData,
  type PaidOffer,
  type Permit2Approval,
  type TypedData,
} from './typed-data.js'

/** How far the payer's clock may be ahead of the chain's (s). */
const CLOCK_SECONDS = 600

export interface SignablePayment {
  readonly typedData: TypedData
  /** What names the payment: the contract that takes note of its nonce, and the nonce. */
  readonly key: { readonly contract: string; readonly nonce: string }
  /** `payload` of the payment, once it is signed. */
  readonly payloadOf: (signature: string) => object
}

interface Signing {
  readonly from: string
  readonly chainId: number
  /** Unix seconds. */
  readonly signedAt: number
  /** Unix seconds. */
  readonly validBefore: number
}

/** Makes the authorization that pays an offer, with a random nonce. With `upto`, it is for a maximum. */
export function signablePayment(
  offer: PaidOffer,
  { from, chainId, signedAt, validBefore }: Signing,
): SignablePayment {
  const { asset, payTo, amount, extra } = offer
  const nonce = `0x${randomHex(32)}`
  if (extra?.['assetTransferMethod'] === 'permit2') {
    const part = { from, nonce: BigInt(nonce), deadline: validBefore }
    const authorization = permit2Authorization(offer, part)
    return {
      typedData: permit2TypedData(authorization, chainId),
      key: { contract: PERMIT2, nonce },
      payloadOf: (signature) => ({ signature, permit2Authorization: authorization }),
    }
  }
  const authorization = {
    from,
    to: payTo,
    value: amount,
    validAfter: String(signedAt - CLOCK_SECONDS),
    validBefore: String(validBefore),
    nonce,
  }
  const domain = { ...nameOf(offer), chainId, verifyingContract: asset }
  return {
    typedData: transferTypedData(authorization, domain),
    key: { contract: asset, nonce },
    payloadOf: (signature) => ({ signature, authorization }),
  }
}

/** What an offer says of its token's EIP-712 domain. */
const nameOf = ({ extra }: Pick<PaidOffer, 'extra'>) => ({
  name: extra?.['name'],
  version: extra?.['version'],
})

/** An approval of Permit2 (EIP-2612) to sign. */
export interface SignableApproval {
  readonly typedData: TypedData
  /** `info` of the extension `eip2612GasSponsoring`, once it is signed. */
  readonly infoOf: (signature: string) => SignedApproval
}

export type SignedApproval = Permit2Approval & {
  readonly spender: string
  readonly signature: string
  readonly version: '1'
}

/** Makes the approval that lets Permit2 take the amount of an offer. @param nonce - The payer's next one at the token. */
export function signableApproval(
  offer: Pick<PaidOffer, 'asset' | 'amount' | 'extra'>,
  { from, chainId, validBefore, nonce }: Omit<Signing, 'signedAt'> & { readonly nonce: bigint },
): SignableApproval {
  const { asset, amount } = offer
  const deadline = String(validBefore)
  const approval = { from, asset, amount, nonce: nonce.toString(), deadline }
  return {
    typedData: approvalTypedData(approval, { ...nameOf(offer), chainId }),
    infoOf: (signature) => ({ ...approval, spender: PERMIT2, signature, version: '1' }),
  }
}
