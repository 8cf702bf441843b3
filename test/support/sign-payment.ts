import { randomBytes } from 'node:crypto'
import { privateKeyToAccount } from 'viem/accounts'
import { findNetwork } from '../../src/shared/protocol/networks.js'
import type { Hex, PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'

/** Who pays in a test. */
export interface TestPayer {
  readonly address: Hex
  readonly privateKey: Hex
}

/** What a test signs otherwise than a wallet would. */
export interface SigningOverrides {
  readonly to?: string
  readonly value?: string
  readonly validAfter?: string
  readonly validBefore?: string
  readonly nonce?: Hex
  /** EIP-712 domain members that differ from the offer's. */
  readonly domain?: { readonly name?: string; readonly version?: string; readonly chainId?: number }
  /** Members of the finished payload. */
  readonly payload?: Partial<PaymentPayload>
}

/** What is signed (ERC-3009), as EIP-712 describes it. */
export const transferTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** Makes the payment that a wallet would make for an entry of `accepts`. */
export async function signPayment(
  payer: TestPayer,
  accepted: PaymentRequirements,
  overrides: SigningOverrides = {},
): Promise<PaymentPayload> {
  const now = Math.floor(Date.now() / 1000)
  const authorization = {
    from: payer.address,
    to: overrides.to ?? accepted.payTo,
    value: overrides.value ?? accepted.amount,
    validAfter: overrides.validAfter ?? String(now - 600),
    validBefore: overrides.validBefore ?? String(now + accepted.maxTimeoutSeconds),
    nonce: overrides.nonce ?? newNonce(),
  }
  const { name, version } = accepted.extra as { name: string; version: string }
  const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
    domain: {
      name,
      version,
      chainId: findNetwork(accepted.network)?.chainId ?? 0,
      verifyingContract: accepted.asset as Hex,
      ...overrides.domain,
    },
    types: transferTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      to: authorization.to as Hex,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
    },
  })
  return {
    x402Version: 2,
    accepted: { ...accepted },
    payload: { signature, authorization },
    ...overrides.payload,
  }
}

/** A nonce that nobody has used. */
export function newNonce(): Hex {
  return `0x${randomBytes(32).toString('hex')}`
}
