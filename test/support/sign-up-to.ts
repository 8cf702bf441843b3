import { UptoEvmScheme } from '@x402/evm/upto/client'
import { privateKeyToAccount } from 'viem/accounts'
import type { PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { paymentRequiredOf } from './shop.js'
import type { TestPayer } from './sign-payment.js'

/**
 * Pays the first offer of a 402 as the official client does, with the scheme `upto`.
 *
 * @param change - Members of the offer that are not as the 402 has them.
 */
export async function signUpTo(
  required: Response,
  { privateKey }: TestPayer,
  change: Partial<PaymentRequirements> = {},
) {
  const { accepts, resource } = paymentRequiredOf(required)
  const accepted = { ...accepts[0]!, ...change }
  const client = new UptoEvmScheme(privateKeyToAccount(privateKey))
  const { payload } = await client.createPaymentPayload(2, accepted as never)
  return { x402Version: 2, accepted, resource, payload }
}
