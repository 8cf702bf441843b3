/** Signs payments by Permit2, as a wallet would. */
import type { Devnet } from '../../src/tools/devnet/index.js'
import { signTypedData } from '../../src/shared/crypto/sign-typed-data.js'
import { randomHex } from '../../src/shared/protocol/random-hex.js'
import { signableApproval } from '../../src/shared/protocol/signable-payment.js'
import {
  permit2Authorization,
  permit2TypedData,
  type Permit2Authorization,
} from '../../src/shared/protocol/typed-data.js'
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
  const part = {
    from: address,
    nonce: BigInt(`0x${randomHex(32)}`),
    deadline: Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds,
  }
  const authorization = { ...permit2Authorization(accepted, part), ...change }
  const { chainId } = findNetwork(accepted.network)!
  const signature = await signTypedData(permit2TypedData(authorization, chainId), privateKey)
  const payload = { signature, permit2Authorization: authorization }
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
  const { from, permitted, deadline } = payment.payload[
    'permit2Authorization'
  ] as Permit2Authorization
  const { typedData, infoOf } = signableApproval(
    { asset: permitted.token, amount: permitted.amount, extra: USDC },
    { from, chainId, validBefore: Number(deadline), nonce: 0n },
  )
  const info = infoOf(await signTypedData(typedData, privateKey))
  return { ...payment, extensions: { eip2612GasSponsoring: { info, schema: {} } } }
}

/** Of its EIP-712 domain. */
const USDC = { name: 'USDC', version: '2' }

/** Who has signed a payment, and the nonce that it uses up, 32 bytes, whatever moves its tokens. */
export function keyOf({ payload }: PaymentPayload): { readonly from: Hex; readonly nonce: Hex } {
  const { authorization, permit2Authorization: permit } = payload as {
    readonly authorization?: { readonly from: Hex; readonly nonce: Hex }
    readonly permit2Authorization?: { readonly from: Hex; readonly nonce: string }
  }
  if (permit === undefined) return authorization!
  return { from: permit.from, nonce: `0x${BigInt(permit.nonce).toString(16).padStart(64, '0')}` }
}
