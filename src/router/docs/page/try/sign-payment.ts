/** A payment that a wallet signs, for verify and settle. */
import { callProvider, type Provider } from '../../../../browser/provider.js'
import {
  findFirstAccount,
  hexChainId,
  isOnChain,
  signTransfer,
} from '../../../../browser/sign-transfer.js'

interface Offer {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra?: { readonly name?: string; readonly version?: string }
}

interface Offered {
  readonly resource: object
  readonly accepts: readonly Offer[]
  readonly detail?: string
}

/** The price of what is tried, in major units of the merchant's currency. */
const PRICE = 0.01

/** Asks the gateway for an offer, has a wallet sign for it, and makes the body of verify and settle. */
export async function signPayment(provider: Provider, token: string): Promise<string> {
  const { resource, offer } = await askForOffer(token)
  const { protocolVersion: _version, ...accepted } = offer as Offer & { protocolVersion?: number }
  const from = await findAccount(provider)
  const chainId = await switchChain(provider, offer.network)
  const payload = await signTransfer(provider, {
    ...{ ...offer, from, chainId },
    validAfter: 0,
    validBefore: Math.floor(Date.now() / 1000) + offer.maxTimeoutSeconds,
  })
  if (payload === undefined) throw new Error('The wallet gave no signature.')
  const submission = {
    paymentPayload: { x402Version: 2, resource, accepted, payload },
    paymentRequirements: accepted,
  }
  return JSON.stringify(submission, undefined, 2)
}

async function askForOffer(token: string) {
  const response = await fetch('../payment/requirements', {
    method: 'POST',
    headers: { 'X-Project-Identify-Token': token, 'Content-Type': 'application/json' },
    body: JSON.stringify({ resourceUrl: location.href.split('#')[0], requestedAmount: PRICE }),
  })
  const { resource, accepts, detail } = (await response.json()) as Offered
  if (!response.ok) throw new Error(detail ?? `The gateway answered ${response.status}.`)
  const [offer] = accepts
  if (offer === undefined) throw new Error('The merchant takes no token.')
  return { resource, offer }
}

async function findAccount(provider: Provider): Promise<string> {
  const account = await findFirstAccount(provider)
  if (account === undefined) throw new Error('The wallet has given no account.')
  return account
}

async function switchChain(provider: Provider, network: string): Promise<number> {
  const id = Number(/^eip155:(\d+)$/.exec(network)?.[1])
  if (!Number.isSafeInteger(id))
    throw new Error(`The gateway writes short names of networks (${network}): sign elsewhere.`)
  if (!(await isOnChain(provider, id)))
    await callProvider(provider, 'wallet_switchEthereumChain', [{ chainId: hexChainId(id) }])
  return id
}
