import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { Devnet } from '../../src/devnet/index.js'
import { encodeMintEach, sendMint, waitUntilMinted } from '../../src/devnet/mint.js'
import type { PaymentPayload, PaymentRequirements } from '../../src/protocol/payment.js'
import { signPayment, type TestPayer } from '../support/sign-payment.js'

/** Seconds for which a payment is good: longer than any benchmark takes. */
const VALID_SECONDS = 24 * 60 * 60

/** Accounts that one mint transaction has gas for. */
const MINT_AT_ONCE = 16

const ONE_MILLION_USDC = 10n ** 12n

/** Payments that are signed already, by buyer. */
export type SignedPayments = readonly (readonly PaymentPayload[])[]

/** Makes accounts of their own for so many buyers. */
export function createBuyers(count: number): readonly TestPayer[] {
  return Array.from({ length: count }, () => {
    const privateKey = generatePrivateKey()
    return { privateKey, address: privateKeyToAddress(privateKey) }
  })
}

/** Gives every buyer more than he will spend. */
export async function fund(devnet: Devnet, buyers: readonly TestPayer[]): Promise<void> {
  for (let start = 0; start < buyers.length; start += MINT_AT_ONCE) {
    const addresses = buyers.slice(start, start + MINT_AT_ONCE).map(({ address }) => address)
    const hash = await sendMint(devnet, encodeMintEach(addresses, ONE_MILLION_USDC))
    await devnet.mine()
    await waitUntilMinted(devnet, hash)
  }
}

/** Signs so many payments for each buyer, before any clock runs. */
export async function signAll(
  buyers: readonly TestPayer[],
  each: number,
  requirements: PaymentRequirements,
): Promise<SignedPayments> {
  const validBefore = String(Math.floor(Date.now() / 1000) + VALID_SECONDS)
  return Promise.all(
    buyers.map((buyer) =>
      Promise.all(
        Array.from({ length: each }, () => signPayment(buyer, requirements, { validBefore })),
      ),
    ),
  )
}
