/** What payers sign, as typed data (EIP-712). In browsers, too: it imports addresses alone. */
import { PERMIT2, PERMIT2_SPENDERS } from './contracts.js'

/** By scheme. */
const SPENDERS: Readonly<Record<string, string>> = PERMIT2_SPENDERS

/** `permit2Authorization` of a payment. Numbers are texts, as they are on the wire. */
export interface Permit2Authorization {
  readonly from: string
  readonly permitted: { readonly token: string; readonly amount: string }
  readonly spender: string
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

/** The entry of `accepts` that is paid. With `upto`, its amount is a maximum. */
export interface PaidOffer {
  readonly scheme: string
  readonly asset: string
  readonly payTo: string
  readonly amount: string
  readonly extra?: { readonly [member: string]: unknown } | null | undefined
}

interface PayerPart {
  readonly from: string
  /** Random. */
  readonly nonce: bigint
  /** Unix seconds. */
  readonly deadline: number
}

export function permit2Authorization(
  { scheme, asset, payTo, amount, extra }: PaidOffer,
  { from, nonce, deadline }: PayerPart,
): Permit2Authorization {
  const spender = SPENDERS[scheme]
  if (spender === undefined) throw new Error(`No contract moves tokens by Permit2 for '${scheme}'.`)
  const facilitator = scheme === 'upto' && { facilitator: extra?.['facilitatorAddress'] }
  return {
    from,
    permitted: { token: asset, amount },
    spender,
    nonce: nonce.toString(),
    deadline: String(deadline),
    witness: { to: payTo, ...facilitator, validAfter: '0' },
  }
}

interface Field {
  readonly name: string
  readonly type: string
}

const text = (name: string): Field => ({ name, type: 'string' })
const address = (name: string): Field => ({ name, type: 'address' })
const uint256 = (name: string): Field => ({ name, type: 'uint256' })

export const DOMAIN_TYPE: readonly Field[] = [
  text('name'),
  text('version'),
  uint256('chainId'),
  address('verifyingContract'),
]

export interface TypedData {
  readonly domain: {
    readonly name?: unknown
    readonly version?: unknown
    readonly chainId: number
    readonly verifyingContract: string
  }
  readonly types: Readonly<Record<string, readonly Field[]>>
  readonly primaryType: string
  readonly message: Readonly<Record<string, unknown>>
}

export const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    address('from'),
    address('to'),
    uint256('value'),
    uint256('validAfter'),
    uint256('validBefore'),
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** What is signed of a transfer by ERC-3009. @param domain - The token's. */
export function transferTypedData(
  authorization: TypedData['message'],
  domain: TypedData['domain'],
): TypedData {
  const primaryType = 'TransferWithAuthorization'
  return { domain, types: TRANSFER_TYPES, primaryType, message: authorization }
}

export function permit2TypedData(
  { from: _from, ...message }: Permit2Authorization,
  chainId: number,
): TypedData {
  const isMetered = 'facilitator' in message.witness
  return {
    domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2 },
    types: {
      PermitWitnessTransferFrom: [
        { name: 'permitted', type: 'TokenPermissions' },
        address('spender'),
        uint256('nonce'),
        uint256('deadline'),
        { name: 'witness', type: 'Witness' },
      ],
      TokenPermissions: [address('token'), uint256('amount')],
      Witness: [
        address('to'),
        ...(isMetered ? [address('facilitator')] : []),
        uint256('validAfter'),
      ],
    },
    primaryType: 'PermitWitnessTransferFrom',
    message,
  }
}

/** An approval of Permit2 (EIP-2612) that a payment brings. */
export interface Permit2Approval {
  readonly from: string
  readonly asset: string
  readonly amount: string
  /** Decimal: the payer's next one at the token. */
  readonly nonce: string
  /** Unix seconds. */
  readonly deadline: string
}

/** What is signed of an approval. @param domain - The token's. */
export function approvalTypedData(
  { from, asset, amount, nonce, deadline }: Permit2Approval,
  domain: Omit<TypedData['domain'], 'verifyingContract'>,
): TypedData {
  return {
    domain: { ...domain, verifyingContract: asset },
    types: {
      Permit: [
        address('owner'),
        address('spender'),
        uint256('value'),
        uint256('nonce'),
        uint256('deadline'),
      ],
    },
    primaryType: 'Permit',
    message: { owner: from, spender: PERMIT2, value: amount, nonce, deadline },
  }
}
