/** Signs payments by Permit2, as a wallet would. */
import type { Devnet } from '../../src/tools/devnet/index.js'
import {
  permit2AuthorizationFor,
  signApproval,
  signPermit2,
} from '../../src/shared/crypto/sign-permit2.js'
import type { Permit2Authorization } from '../../src/shared/protocol/typed-data.js'
import { findNetwork } from '../../src/shared/protocol/networks.js'
import type { Hex, PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import type { TestPayer } from './sign-payment.js'

/**
 * Makes the payment that a wallet would make for an entry of `accepts`.
 *
 * @param change - What it signs otherwise. `from` may be an account that the payer owns.
 */
export async function signPermit(
  { address, privateKey }: TestPayer,
  accepted: PaymentRequirements,
  change: Partial<Permit2Authorization> = {},
): Promise<PaymentPayload> {
  const authorization = { ...permit2AuthorizationFor(accepted, address), ...change }
  const chainId = findNetwork(accepted.network)!.chainId
  const payload = await signPermit2(authorization, { privateKey, chainId })
  return { x402Version: 2, accepted: { ...accepted }, payload }
}

/**
 * Adds the payer's first approval of Permit2 on USDC (EIP-2612), for which the seller pays the gas. The contract
 * takes it once; whoever pays with the same one later needs what it has allowed.
 */
export async function withApproval(
  { chainId }: Pick<Devnet, 'chainId'>,
  { privateKey }: TestPayer,
  payment: PaymentPayload,
): Promise<PaymentPayload> {
  const authorization = payment.payload['permit2Authorization'] as Permit2Authorization
  const domain = { name: 'USDC', version: '2', chainId }
  const info = await signApproval({ authorization, nonce: 0n, domain }, privateKey)
  return { ...payment, extensions: { eip2612GasSponsoring: { info, schema: {} } } }
}

/** Who has signed a payment, and the nonce that it uses up, 32 bytes, whatever moves its tokens. */
export function keyOf({ payload }: PaymentPayload): { readonly from: Hex; readonly nonce: Hex } {
  const { authorization, permit2Authorization: permit } = payload as {
    readonly authorization?: { readonly from: Hex; readonly nonce: Hex }
    readonly permit2Authorization?: { readonly from: Hex; readonly nonce: string }
  }
  if (permit === undefined) return authorization!
  return { from: permit.from, nonce: `0x${BigInt(permit.nonce).toString(16).padStart(64, '0')}` }
}
