import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAddress } from 'viem/accounts'
import {
  encodeHeader,
  PAYMENT_REQUIRED,
  PAYMENT_SIGNATURE,
} from '../../../shared/protocol/headers.js'
import {
  UPTO,
  X402_VERSION,
  type Hex,
  type Address,
  type PaymentPayload,
} from '../../../shared/protocol/payment.js'
import { chooseOffer, describeAmount, type Limits, type PayableOffer } from './choose-offer.js'
import {
  describeProblem,
  isBeforeSending,
  NoAnswer,
  readRequired,
  readSettlement,
  send,
  type Answer,
  type PaidRequest,
} from './http.js'
import { signTypedData } from '../../../shared/crypto/sign-typed-data.js'
import { formatDecimal, trimDecimal } from '../../../shared/money/decimal.js'
import { PERMIT2 } from '../../../shared/protocol/contracts.js'
import { visible } from '../../../shared/protocol/visible-text.js'
import { randomBytes } from 'node:crypto'
import { isObject, membersOf } from '../../../shared/protocol/document.js'
import { PAYMENT_IDENTIFIER } from '../../../shared/protocol/payment-identifier.js'
import { signablePayment } from '../../../shared/protocol/signable-payment.js'

/** An authorization is valid for at most this long (s), whatever the server asks for. */
const MAX_VALID_SECONDS = 3600

/** How often a payment is presented if its outcome stays unknown. */
const MAX_PRESENTED = 6

/** How long to wait before presenting it again, unless the server says (s). */
const RETRY_SECONDS = 2
const MAX_RETRY_SECONDS = 15

export interface Purchase {
  readonly request: PaidRequest
  readonly privateKey: Hex
  readonly limits: Limits
  readonly signal: AbortSignal
  readonly tell: (step: string) => void
}

export interface Bought {
  readonly answer: Answer
  /** The server delivered and, if it asked for money, confirmed the payment. */
  readonly isGood: boolean
}

/** Buys from a URL: asks, chooses an offer, signs it, and presents the payment. */
export async function buy(purchase: Purchase): Promise<Bought> {
  const { request, limits, signal, tell } = purchase
  tell(`${request.method} ${request.url}`)
  const first = await send(request, { signal })
  tell(describe(first))
  if (first.status !== 402) {
    if (first.status < 400) tell('Nothing to pay.')
    return { answer: first, isGood: first.status < 300 }
  }
  const required = readRequired(first)
  if (required['x402Version'] !== X402_VERSION)
    throw new Error(
      `The server speaks x402 version ${visible(String(required['x402Version']))}, not 2.`,
    )
  const choice = chooseOffer(required['accepts'] as readonly unknown[], limits)
  if (choice.kind === 'none')
    throw new Error(
      `No offer is acceptable:\n${choice.reasons.map((reason) => `  ${reason}`).join('\n')}`,
    )
  const { offer } = choice
  const from = privateKeyToAddress(purchase.privateKey)
  const { requirements } = offer
  const maxTimeoutSeconds = Math.min(requirements.maxTimeoutSeconds, MAX_VALID_SECONDS)
  const limited = { ...offer, requirements: { ...requirements, maxTimeoutSeconds } }
  const unsigned = prepare(limited, from)
  announce(purchase, offer, unsigned)
  const signature = await signTypedData(unsigned.typedData, purchase.privateKey)
  const payload = unsigned.payloadOf(signature)
  return present(purchase, offer, encodeHeader(paymentOf(offer, payload, required)))
}

function announce(
  { tell }: Purchase,
  offer: PayableOffer,
  { typedData: { primaryType, message }, from, validBefore }: ReturnType<typeof prepare>,
): void {
  const { asset, requirements } = offer
  const { name } = asset.network
  const { payTo, scheme } = requirements
  const amount = `${scheme === UPTO ? 'up to ' : ''}${describeAmount(offer.amount, asset)}`
  tell(`Offer chosen: ${amount} on ${name}, to ${payTo}`)
  tell(`Signing ${primaryType} of ${amount}
    from ${from}
    to ${payTo}
    until ${new Date(validBefore * 1000).toISOString()}, nonce ${String(message['nonce'])}`)
}

/** Presents a payment, and the same one again while its outcome is unknown. */
async function present(purchase: Purchase, offer: PayableOffer, header: string): Promise<Bought> {
  const { request, signal, tell } = purchase
  let mayBeTaken = false
  for (let count = 1; ; count++) {
    tell(count === 1 ? 'Presenting the payment' : 'Presenting the same payment again')
    const answer = await attempt(purchase, header)
    if (answer !== undefined && answer.status !== 503) return judge(answer, offer, tell)
    if (answer !== undefined) tell(describe(answer))
    if (answer === undefined || !isBeforeSending(answer)) {
      // This request may have sent the transaction, whatever later answers say.
      mayBeTaken = true
      tell(`The outcome is unknown so far${answer === undefined ? '' : hashOf(answer)}`)
    }
    if (count === MAX_PRESENTED) throw new Error(mayBeTaken ? unknown(request) : NOT_TAKEN)
    await sleep(pauseMs(answer), undefined, { signal }).catch(() => {
      throw new Error('Interrupted: the payment may have been taken.')
    })
  }
}

const NOT_TAKEN = 'The seller could not take the payment. Nothing was charged. Try again later.'

const unknown = ({ url }: PaidRequest): string =>
  `The outcome is unknown. ${new URL(url).host} may have taken the payment: look up its transaction before you pay again.`

/** @returns `undefined` without an answer: the server may have the payment. */
async function attempt({ request, signal, tell }: Purchase, header: string) {
  try {
    return await send(request, { signal, payment: { [PAYMENT_SIGNATURE]: header } })
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    tell(error.message)
    return undefined
  }
}

function judge(answer: Answer, offer: PayableOffer, tell: Purchase['tell']): Bought {
  tell(describe(answer))
  const settlement = readSettlement(answer)
  const isSettled = settlement?.['success'] === true
  const taken = settlement && isSettled ? charged(settlement, offer) : undefined
  if (taken !== undefined) tell(taken)
  if (isSettled) tell(`Settled on ${text(settlement['network'])}${hashOf(answer)}`)
  else if (settlement !== undefined)
    tell(`Not settled: ${text(settlement['errorReason'])}${hashOf(answer)}`)
  else if (answer.status === 402 || answer.headers.has(PAYMENT_REQUIRED))
    tell(refusal(answer, offer))
  else tell('The response reports no settlement.')
  return { answer, isGood: answer.status < 400 && isSettled }
}

/** Words for a refusal, and what to do about a token that was not approved. */
function refusal(answer: Answer, { requirements: { asset, amount } }: PayableOffer): string {
  const reason = text(readRequired(answer)['error'])
  if (reason !== 'permit2_allowance_required') return `Refused: ${reason}`
  return `Refused: ${reason}. Nothing was charged.
    Permit2 may not take this much of the token from the account. Approve it in a transaction, and pay again:
    cast send ${asset} 'approve(address,uint256)' ${PERMIT2} ${amount} --rpc-url <url> --interactive`
}

/** What was charged of a maximum, if the server says so. */
function charged(
  settlement: Readonly<Record<string, unknown>>,
  { asset, amount, requirements }: PayableOffer,
) {
  const { amount: units } = settlement
  if (requirements.scheme !== UPTO || typeof units !== 'string' || !/^\d{1,78}$/.test(units))
    return undefined
  const { decimals: scale } = asset
  const taken = formatDecimal(trimDecimal({ units: BigInt(units), scale }))
  return `Charged: ${taken} of at most ${describeAmount(amount, asset)}`
}

function hashOf(answer: Answer): string {
  const transaction = readSettlement(answer)?.['transaction']
  return transaction === undefined || transaction === '' ? '' : `, transaction ${text(transaction)}`
}

const describe = (answer: Answer): string =>
  `Answer: ${answer.status}${describeProblem(answer)}${redirect(answer)}`

function redirect({ headers }: Answer): string {
  const location = headers.get('location')
  return location === null ? '' : `, redirects to ${visible(location)} (not followed)`
}

function pauseMs(answer: Answer | undefined): number {
  const seconds = Number(answer?.headers.get('retry-after') ?? RETRY_SECONDS)
  const usable = Number.isFinite(seconds) && seconds > 0 ? seconds : RETRY_SECONDS
  return Math.min(usable, MAX_RETRY_SECONDS) * 1000
}

const text = (value: unknown): string => (typeof value === 'string' ? visible(value) : 'no reason')

function prepare({ requirements, asset }: PayableOffer, from: Address) {
  const signedAt = Math.floor(Date.now() / 1000)
  const validBefore = signedAt + requirements.maxTimeoutSeconds
  const { chainId } = asset.network
  // viem signs no address with a wrong checksum, and the seller may have written one.
  const offer = { ...requirements, asset: asset.address }
  const payment = signablePayment(offer, { from, chainId, signedAt, validBefore })
  return { ...payment, from, validBefore }
}

interface Offered {
  readonly resource?: unknown
  readonly extensions?: unknown
}

function paymentOf(
  { requirements }: PayableOffer,
  payload: object,
  { resource, extensions }: Offered,
): PaymentPayload {
  return {
    x402Version: X402_VERSION,
    ...(isObject(resource) && { resource }),
    accepted: { ...requirements },
    payload: { ...payload },
    ...(isObject(extensions) && { extensions: withPaymentId(extensions) }),
  }
}

/** Adds a payment id if the server takes one: then a repeated payment gets the same answer. */
function withPaymentId(extensions: Readonly<Record<string, unknown>>) {
  const offered = extensions[PAYMENT_IDENTIFIER]
  if (!isObject(offered)) return extensions
  const info = membersOf(offered['info'])
  const id = randomBytes(24).toString('base64url')
  return { ...extensions, [PAYMENT_IDENTIFIER]: { ...offered, info: { ...info, id } } }
}
