/** The buyer's side of a payment by Permit2, signed with a private key. */
import { randomBytes } from 'node:crypto'
import { privateKeyToAccount } from 'viem/accounts'
import { PERMIT2, PERMIT2_SPENDERS } from '../protocol/contracts.js'
import type { Address, Hex, PaymentRequirements } from '../protocol/payment.js'

/** By scheme. */
const SPENDERS: Readonly<Record<string, `0x${string}`>> = PERMIT2_SPENDERS

/** Numbers stay texts, as they are on the wire. */
type Types = Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>

const PERMIT2_TYPES = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
}

const APPROVAL_TYPES: Types = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
}

/** `permit2Authorization` of a payment. */
export interface Permit2Authorization {
  readonly from: Address
  readonly permitted: { readonly token: string; readonly amount: string }
  readonly spender: Address
  /** Decimal. */
  readonly nonce: string
  /** Unix seconds. */
  readonly deadline: string
  readonly witness: {
    readonly to: string
    readonly facilitator?: unknown
    readonly validAfter: string
  }
}

/** Makes the authorization that pays an offer, with a random nonce. With `upto`, it is for a maximum. */
export function permit2AuthorizationFor(
  { scheme, asset, amount, payTo, maxTimeoutSeconds, extra }: PaymentRequirements,
  from: Address,
): Permit2Authorization {
  const spender = SPENDERS[scheme]
  if (spender === undefined) throw new Error(`No contract moves tokens by Permit2 for '${scheme}'.`)
  const isUpto = scheme === 'upto'
  return {
    from,
    permitted: { token: asset, amount },
    spender,
    nonce: BigInt(`0x${randomBytes(32).toString('hex')}`).toString(),
    deadline: String(Math.floor(Date.now() / 1000) + maxTimeoutSeconds),
    witness: {
      to: payTo,
      ...(isUpto && { facilitator: extra?.['facilitatorAddress'] }),
      validAfter: '0',
    },
  }
}

/** Signs it. @returns `payload` of the payment */
export async function signPermit2(
  authorization: Permit2Authorization,
  { privateKey, chainId }: { readonly privateKey: Hex; readonly chainId: number },
) {
  const { from: _from, ...message } = authorization
  const isUpto = 'facilitator' in message.witness
  const types: Types = {
    ...PERMIT2_TYPES,
    Witness: [
      { name: 'to', type: 'address' },
      ...(isUpto ? [{ name: 'facilitator', type: 'address' }] : []),
      { name: 'validAfter', type: 'uint256' },
    ],
  }
  const domain = { name: 'Permit2', chainId, verifyingContract: PERMIT2 } as const
  const primaryType = 'PermitWitnessTransferFrom'
  const account = privateKeyToAccount(privateKey)
  const signature = await account.signTypedData({ domain, types, primaryType, message })
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
  const signed = { spender: PERMIT2, nonce: nonce.toString(), deadline }
  const signature = await privateKeyToAccount(privateKey).signTypedData({
    domain: { ...domain, verifyingContract: asset as Address },
    types: APPROVAL_TYPES,
    primaryType: 'Permit',
    message: { owner: from, value: amount, ...signed },
  })
  return { from, asset, amount, ...signed, signature, version: '1' }
}
