/** Asks a wallet to sign a payment. */
import { decimalOf } from '../../../browser/decimal.js'
import { callProvider, ProviderFailure, type Provider } from '../../../browser/provider.js'
import {
  findFirstAccount,
  randomHex,
  signTransfer,
  switchChain,
} from '../../../browser/sign-transfer.js'
import { encodeJson } from './base64.js'
import { data, serverNow } from './data.js'
import type { KeptPayment } from './kept-payment.js'
import type { PageDocument, PageOffer, PageTerms } from './page-data.js'
import { paymentNumber, type ReceiptFacts } from './receipt-facts.js'
import { text } from './texts.js'

/** Why nothing was signed, for people. */
export class NotSigned extends Error {
  /** @param lacking - The offer whose token the account has too little of. */
  constructor(
    message: string,
    readonly lacking?: PageOffer,
  ) {
    super(message)
  }
}

/** A payment to sign, and the wallet. */
export interface Purchase {
  readonly provider: Provider
  /** Name of the wallet. */
  readonly wallet: string
  readonly document: PageDocument
  readonly terms: PageTerms
  readonly offer: PageOffer
}

/** The authorization is valid from this long ago (s): clocks of chains differ. */
const BACKDATED_SECONDS = 600

/**
 * Connects the wallet, switches its network, checks the balance, and asks for the signature.
 *
 * @param tell - Called with each step.
 * @returns The payment, to be kept before it is sent.
 * @throws {@link NotSigned}
 */
export async function signPayment(
  purchase: Purchase,
  tell: (step: string) => void,
): Promise<KeptPayment> {
  const { wallet, offer } = purchase
  try {
    tell(text('connecting', { wallet }))
    const account = await connect(purchase)
    tell(text('switching', { wallet, network: offer.network }))
    await switchTo(purchase)
    tell(text('checkingBalance'))
    await checkBalance(purchase, account)
    tell(text('signing', { wallet }))
    return await sign(purchase, account)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    if (error.kind === 'declined') throw new NotSigned(text('declined'))
    throw new NotSigned(text('walletFailed', { message: error.message }))
  }
}

async function connect({ provider }: Purchase): Promise<string> {
  const account = await findFirstAccount(provider)
  if (account !== undefined) return account
  throw new NotSigned(text('noAccount'))
}

/** Switches to the network of the offer. */
async function switchTo({ provider, offer }: Purchase): Promise<void> {
  const { chainId, chain, network } = offer
  if (!(await switchChain(provider, chainId, chain)))
    throw new NotSigned(text('unknownChain', { network, chainId }))
}

/** Selector of `balanceOf(address)`. */
const BALANCE_OF = '0x70a08231'

/** Compares balance and price. An unknown balance does not prevent the payment. */
async function checkBalance({ provider, terms, offer }: Purchase, account: string): Promise<void> {
  const call = {
    to: terms.asset,
    data: BALANCE_OF + account.slice(2).toLowerCase().padStart(64, '0'),
  }
  const result = await callProvider(provider, 'eth_call', [call, 'latest']).catch(() => undefined)
  if (typeof result !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(result)) return
  const balance = BigInt(result)
  if (balance >= BigInt(terms.amount)) return
  const decimal = decimalOf(balance.toString(), offer.decimals)
  const format = new Intl.NumberFormat(data.locale, {
    minimumFractionDigits: 2,
    maximumFractionDigits: 18,
  })
  const shown = `${format.format(decimal as Intl.StringNumericLiteral)} ${offer.symbol}`
  throw new NotSigned(text('balanceTooLow', { balance: shown, amount: offer.amount }), offer)
}

async function sign(purchase: Purchase, from: string): Promise<KeptPayment> {
  const { provider, document, terms, offer } = purchase
  const signedAt = serverNow()
  const validBefore = signedAt + terms.maxTimeoutSeconds
  const { chainId } = offer
  const signed = await signTransfer(provider, {
    ...terms,
    from,
    chainId,
    validAfter: signedAt - BACKDATED_SECONDS,
    validBefore,
  })
  if (signed === undefined) throw new NotSigned(text('walletFailed', { message: '' }))
  const header = encodeJson({
    x402Version: 2,
    resource: document.resource,
    accepted: terms,
    payload: signed,
    // By this id, the seller recognises the payment: it sends the same response and never charges twice.
    extensions: { 'payment-identifier': { info: { required: false, id: randomHex(16) } } },
  })
  const { nonce } = signed.authorization
  const number = await paymentNumber({ chainId, contract: terms.asset, from, nonce })
  return { header, signedAt, validBefore, receipt: receiptFacts(purchase, from, number) }
}

function receiptFacts(
  { terms: { payTo }, offer }: Purchase,
  payer: string,
  number: string | undefined,
): ReceiptFacts {
  const { title, seller, price } = data
  const { amount, network, testnet, explorer } = offer
  return { number, title, seller, price, amount, network, testnet, payTo, payer, explorer }
}
