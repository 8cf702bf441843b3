/** Asks a wallet to sign a payment. */
import {
  callProvider,
  findFirstAccount,
  ProviderFailure,
  signTypedData,
  switchChain,
  type Provider,
} from '../browser/provider.js'
import {
  lacksGas,
  readAllowance,
  readApprovalNonce,
  readBalance,
  sendApproval,
} from '../browser/permit2.js'
import { randomHex } from '../../shared/protocol/random-hex.js'
import {
  signableApproval,
  signablePayment,
  type SignedApproval,
} from '../../shared/protocol/signable-payment.js'
import { encodeJson } from './base64.js'
import { data, serverNow } from './data.js'
import type { KeptPayment } from './kept-payment.js'
import type { PageDocument, PageOffer, PageTerms } from '../../sell/paywall/page-data.js'
import { formatToken, paymentNumber, type ReceiptFacts } from './receipt-facts.js'
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
    return await sign(purchase, account, tell)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    throw new NotSigned(text(WORDS.get(error.kind) ?? 'walletFailed', { message: error.message }))
  }
}

/** Texts for failures of a wallet; others are told in its own words. */
const WORDS = new Map([
  ['declined', 'declined'],
  ['locked', 'noAccount'],
  ['busy', 'walletBusy'],
])

async function connect({ provider }: Purchase): Promise<string> {
  const account = await findFirstAccount(provider)
  if (account !== undefined) return account
  throw new NotSigned(text('noAccount'))
}

async function switchTo({ provider, offer }: Purchase): Promise<void> {
  const { chainId, chain, network } = offer
  if (!(await switchChain(provider, chainId, chain)))
    throw new NotSigned(text('unknownChain', { network, chainId }))
}

/** Compares balance and price. An unknown balance does not prevent the payment. */
async function checkBalance({ provider, terms, offer }: Purchase, from: string): Promise<void> {
  const balance = await readBalance(provider, { ...terms, from })
  if (balance === undefined || balance >= BigInt(terms.amount)) return
  const shown = formatToken(balance.toString(), offer)
  throw new NotSigned(text('balanceTooLow', { balance: shown, amount: offer.amount }), offer)
}

async function sign(
  purchase: Purchase,
  from: string,
  tell: (step: string) => void,
): Promise<KeptPayment> {
  const { provider, wallet, document, terms, offer } = purchase
  const { chainId } = offer
  const approval = isPermit2(terms) ? await approve(purchase, from, tell) : undefined
  tell(text('signing', { wallet }))
  const signedAt = serverNow()
  const validBefore = approval ? Number(approval.deadline) : signedAt + terms.maxTimeoutSeconds
  const payment = signablePayment(terms, { from, chainId, signedAt, validBefore })
  const signature = await signTypedData(provider, from, payment.typedData)
  if (signature === undefined) throw new NotSigned(text('walletFailed', { message: '' }))
  const header = encodeJson({
    x402Version: 2,
    resource: document.resource,
    accepted: terms,
    payload: payment.payloadOf(signature),
    // By this id, the seller recognises the payment: it sends the same response and never charges twice.
    extensions: {
      'payment-identifier': { info: { required: false, id: randomHex(16) } },
      ...(approval && { [SPONSORING]: { info: approval } }),
    },
  })
  const number = await paymentNumber({ chainId, from, ...payment.key })
  return { header, signedAt, validBefore, receipt: receiptFacts(purchase, from, number) }
}

/** Whether a way to pay is by Permit2. */
export function isPermit2(terms: PageTerms | undefined): boolean {
  return terms?.extra?.['assetTransferMethod'] === 'permit2'
}

/** Whether the seller pays for the approval of a token that Permit2 moves. */
export function isSponsored({ extensions }: PageDocument, { extra }: PageTerms): boolean {
  return SPONSORING in Object(extensions) && 'name' in Object(extra)
}

/** Key of the extension by which the seller sends a signed approval. */
const SPONSORING = 'eip2612GasSponsoring'

/** The token of network fees. */
export const coinOf = ({ chain }: PageOffer): string => chain?.nativeCurrency?.symbol ?? 'gas'

/** How often the transaction of an approval is looked for, and how long (ms). */
const LOOK = { everyMs: 2000, forMs: 180_000 }

/**
 * Has the account approve the amount to Permit2, if it has not.
 *
 * @returns The signed approval that goes with the payment; nothing where none is needed.
 */
async function approve(
  purchase: Purchase,
  from: string,
  tell: (step: string) => void,
): Promise<SignedApproval | undefined> {
  const { provider, wallet, document, terms, offer } = purchase
  const { chainId, network, amount } = offer
  const validBefore = serverNow() + terms.maxTimeoutSeconds
  const { asset } = terms
  const allowance = await readAllowance(provider, { from, asset })
  if (allowance !== undefined && allowance >= BigInt(terms.amount)) return undefined
  const words = { wallet, amount }
  tell(text('approving', words))
  const nonce = isSponsored(document, terms)
    ? await readApprovalNonce(provider, { from, asset })
    : undefined
  if (nonce !== undefined) {
    const approval = signableApproval(terms, { from, chainId, validBefore, nonce })
    const signature = await signTypedData(provider, from, approval.typedData)
    if (signature !== undefined) return approval.infoOf(signature)
  }
  const transfer = { from, asset, amount: terms.amount }
  if (await lacksGas(provider, transfer)) {
    throw new NotSigned(text('gasNeeded', { coin: coinOf(offer), network }))
  }
  // Some tokens, as USDT on Ethereum, let nothing be approved while something is.
  if (allowance) {
    tell(text('revoking', words))
    await approveOnChain(provider, { ...transfer, amount: '0' }, tell)
    tell(text('approving', words))
  }
  await approveOnChain(provider, transfer, tell)
  return undefined
}

/** Has the account approve an amount in a transaction, and waits until that is mined. */
async function approveOnChain(
  provider: Provider,
  transfer: Parameters<typeof sendApproval>[1],
  tell: (step: string) => void,
): Promise<void> {
  const hash = await sendApproval(provider, transfer)
  tell(text('approvalPending'))
  const wanted = BigInt(transfer.amount)
  for (const until = Date.now() + LOOK.forMs; Date.now() < until;) {
    const asked = callProvider(provider, 'eth_getTransactionReceipt', [hash])
    const { status } = Object(await asked.catch(() => undefined)) as { readonly status?: unknown }
    if (status === '0x1') return
    if (status === '0x0') break
    // Wallets may send another transaction in its place, and let their user approve more.
    const allowance = (await readAllowance(provider, transfer)) ?? -1n
    if (wanted ? allowance >= wanted : !allowance) return
    await new Promise((resolve) => setTimeout(resolve, LOOK.everyMs))
  }
  throw new NotSigned(text('approvalFailed'))
}

function receiptFacts(
  { terms: { payTo, scheme }, offer }: Purchase,
  payer: string,
  number: string | undefined,
): ReceiptFacts {
  const { title, seller, price } = data
  const { amount, symbol, decimals, network, testnet, explorer } = offer
  const token = scheme === 'upto' ? { symbol, decimals } : undefined
  return { number, title, seller, price, amount, token, network, testnet, payTo, payer, explorer }
}
