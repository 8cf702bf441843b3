/** The buyer's side of an `exact` payment: an ERC-3009 authorization, signed with a private key. */
import { randomBytes } from 'node:crypto'
import type { Erc3009Payload } from '../protocol/erc3009.js'
import type { Address, Hex, PaymentRequirements } from '../protocol/payment.js'
import { transferTypedData } from '../protocol/typed-data.js'
import { signTypedData } from './sign-typed-data.js'

/** How far this machine's clock may be ahead of the chain's (s). */
const CLOCK_SECONDS = 600

/** Makes the authorization that pays an offer, with a random nonce. */
export function authorizationFor(
  { payTo, amount, maxTimeoutSeconds }: PaymentRequirements,
  from: Address,
): Erc3009Payload['authorization'] {
  const now = Math.floor(Date.now() / 1000)
  return {
    from,
    to: payTo,
    value: amount,
    validAfter: String(now - CLOCK_SECONDS),
    validBefore: String(now + maxTimeoutSeconds),
    nonce: `0x${randomBytes(32).toString('hex')}`,
  }
}

/** The token's EIP-712 domain. */
interface Domain {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: Address
}

/** Signs an authorization. */
export async function signAuthorization(
  authorization: Erc3009Payload['authorization'],
  { privateKey, domain }: { readonly privateKey: Hex; readonly domain: Domain },
): Promise<Erc3009Payload> {
  const signature = await signTypedData(transferTypedData(authorization, domain), privateKey)
  return { signature, authorization }
}
