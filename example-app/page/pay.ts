/** Buys by x402: asks, has the offer signed by a wallet, and presents the payment. */
import { connect, type Provider } from './wallet.js'

/** An entry of `accepts`. */
interface Offer {
  readonly network: string
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string }
}

/** The document of a 402. */
interface Required {
  readonly error?: string
  readonly resource: object
  readonly accepts: readonly Offer[]
}

/** Seconds by which this computer's clock may be ahead of the chain's. */
const CLOCK_SECONDS = 600

const field = (name: string, type: string) => ({ name, type })
const TYPES = {
  EIP712Domain: [
    field('name', 'string'),
    field('version', 'string'),
    field('chainId', 'uint256'),
    field('verifyingContract', 'address'),
  ],
  TransferWithAuthorization: [
    field('from', 'address'),
    field('to', 'address'),
    field('value', 'uint256'),
    field('validAfter', 'uint256'),
    field('validBefore', 'uint256'),
    field('nonce', 'bytes32'),
  ],
}

/**
 * Buys what a path sells.
 *
 * @param tell - Is told of each step.
 * @returns The response, and the transaction that has paid for it.
 */
export async function buy(
  path: string,
  provider: Provider,
  tell: (step: string) => void,
): Promise<{ readonly response: Response; readonly transaction: string }> {
  tell('Asking for the price …')
  // As programs ask: browsers that open the link get a page instead.
  const headers = { Accept: '*/*' }
  const first = await fetch(path, { headers })
  const required = decode(first.headers.get('PAYMENT-REQUIRED')) as Required | undefined
  const [offer] = required?.accepts ?? []
  if (required === undefined || offer === undefined) throw new Error(`No offer: ${first.status}`)
  tell('Waiting for your signature …')
  const payload = await sign(offer, provider)
  const payment = { x402Version: 2, resource: required.resource, accepted: offer, payload }
  tell('Paying …')
  const response = await fetch(path, {
    headers: { ...headers, 'PAYMENT-SIGNATURE': encode(payment) },
  })
  const settled = decode(response.headers.get('PAYMENT-RESPONSE')) as Settled | undefined
  if (response.ok && settled?.success === true)
    return { response, transaction: settled.transaction }
  const refused = decode(response.headers.get('PAYMENT-REQUIRED')) as Required | undefined
  throw new Error(settled?.errorReason ?? refused?.error ?? `The answer is ${response.status}.`)
}

interface Settled {
  readonly success: boolean
  readonly transaction: string
  readonly errorReason?: string
}

/** Has a transfer of tokens signed (ERC-3009). */
async function sign(offer: Offer, provider: Provider): Promise<object> {
  const from = await connect(provider)
  const now = Math.floor(Date.now() / 1000)
  const nonce = crypto.getRandomValues(new Uint8Array(32))
  const authorization = {
    from,
    to: offer.payTo,
    value: offer.amount,
    validAfter: String(now - CLOCK_SECONDS),
    validBefore: String(now + offer.maxTimeoutSeconds),
    nonce: `0x${[...nonce].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`,
  }
  const domain = {
    ...{ name: offer.extra.name, version: offer.extra.version },
    chainId: Number(offer.network.split(':')[1]),
    verifyingContract: offer.asset,
  }
  const primaryType = 'TransferWithAuthorization'
  const typedData = JSON.stringify({ domain, types: TYPES, primaryType, message: authorization })
  const signature = await provider.request({
    method: 'eth_signTypedData_v4',
    params: [from, typedData],
  })
  return { signature, authorization }
}

const encode = (value: object): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))))

function decode(header: string | null): unknown {
  if (header === null) return undefined
  const bytes = Uint8Array.from(atob(header), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}
