/** Buys with the official x402 client. A wallet of the browser signs. */
import { ExactEvmScheme } from '@x402/evm'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createWalletClient, custom } from 'viem'
import { connect, type Provider } from './wallet.js'

/**
 * Buys from a path.
 *
 * @param tell - Called with each step.
 * @returns The response, and the transaction that paid for it.
 */
export async function buy(
  path: string,
  provider: Provider,
  tell: (step: string) => void,
): Promise<{ readonly response: Response; readonly transaction: string }> {
  tell('Connecting …')
  const address = await connect(provider)
  const wallet = createWalletClient({ account: address, transport: custom(provider) })
  const client = new x402Client().register(
    'eip155:*',
    new ExactEvmScheme({
      address,
      async signTypedData(typedData) {
        tell('Waiting for your signature …')
        const signature = await wallet.signTypedData(typedData)
        tell('Paying …')
        return signature
      },
    }),
  )
  // Accepts what programs accept: browsers that open the link get a page instead.
  const headers = { Accept: '*/*' }
  const response = await wrapFetchWithPayment(fetch, client)(path, { headers })
  const header = response.headers.get('PAYMENT-RESPONSE')
  const settled = header === null ? undefined : decodePaymentResponseHeader(header)
  if (response.ok && settled?.success) return { response, transaction: settled.transaction }
  throw new Error(settled?.errorReason ?? `The answer is ${response.status}.`)
}
