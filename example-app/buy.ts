/** A program that pays: the official client, unmodified, with its default spend controls. */
import { ExactEvmScheme } from '@x402/evm'
import { appendPaymentIdentifierToExtensions } from '@x402/extensions'
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

/** Makes a `fetch` that pays. */
export function payingFetch(privateKey: `0x${string}`, transport = fetch): typeof fetch {
  return wrapFetchWithPayment(transport, clientOf(privateKey)) as typeof fetch
}

/**
 * Signs a payment for a URL without sending it, as the value of `PAYMENT-SIGNATURE`.
 *
 * @param withId - Gives the payment an id: presented again, it gets the same answer again.
 */
export async function signPaymentFor(
  url: string,
  privateKey: `0x${string}`,
  { withId = false } = {},
): Promise<string> {
  const client = new x402HTTPClient(clientOf(privateKey))
  const answer = await fetch(url)
  const required = client.getPaymentRequiredResponse((name) => answer.headers.get(name))
  if (withId) appendPaymentIdentifierToExtensions((required.extensions ??= {}))
  const headers = client.encodePaymentSignatureHeader(await client.createPaymentPayload(required))
  return headers['PAYMENT-SIGNATURE'] ?? ''
}

function clientOf(privateKey: `0x${string}`): x402Client {
  return new x402Client().register(
    'eip155:84532',
    new ExactEvmScheme(privateKeyToAccount(privateKey)),
  )
}
