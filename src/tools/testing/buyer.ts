import { signTypedData } from '../../shared/crypto/sign-typed-data.js'
import type { Devnet, DevnetAccount } from '../devnet/index.js'
import type { PaymentRequired, PaymentRequirements, SettleResponse } from '../../index.js'
import {
  encodeHeader,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
  PAYMENT_SIGNATURE,
} from '../../shared/protocol/headers.js'
import { PERMIT_SPONSORING } from '../../shared/protocol/permit-sponsoring.js'
import { isPermit2 } from '../../shared/protocol/same-offer.js'
import { signableApproval, signablePayment } from '../../shared/protocol/signable-payment.js'
import { PurchaseError } from './purchase-error.js'
import { requireRealTimers } from './real-timers.js'
import { permitNonceOf } from './token.js'

/**
 * Options of a purchase: those of `fetch`, and the expected status.
 *
 * @example
 * ```ts
 * import type { BuyInit } from 'express-x402-gateway/testing'
 *
 * const order: BuyInit = { method: 'POST', body: '{"pages":3}', expect: 404 }
 * ```
 */
export interface BuyInit extends RequestInit {
  /**
   * Expected HTTP status of the response to the payment. Any other makes the purchase fail.
   * @defaultValue any below 400, and a settled payment
   */
  readonly expect?: number
}

/** A response to a payment. */
export interface ShopResponse extends Response {
  /** Contents of the `PAYMENT-RESPONSE` header; absent if there is none. */
  readonly settlement?: SettleResponse
  /** Why the payment was refused, e.g. `insufficient_funds`; absent if the response does not say. */
  readonly reason?: string
}

/** A response that was paid for. */
export interface PaidResponse extends ShopResponse {
  /** The settlement, with `transaction`, `network`, `payer` and `amount`: what was paid, in token units. */
  readonly settlement: Extract<SettleResponse, { readonly success: true }> & {
    readonly amount: string
  }
}

/** How much of a response's body an error repeats (characters). */
const BODY_LENGTH = 300

/** Reasons to present a payment again, and how often it is presented: a busy machine takes its time. */
const NOT_YET: readonly unknown[] = ['settlement_pending', 'settlement_timeout']
const MAX_PRESENTED = 6

/** @internal */
export interface BuyerOptions {
  readonly url: string
  readonly payer: DevnetAccount
  readonly devnet: Devnet
  /** Whether the next payment will fail by design; then it is presented only once. */
  readonly failsNext: () => boolean
}

/** An x402 client. @internal */
export class Buyer {
  readonly #options: BuyerOptions

  constructor(options: BuyerOptions) {
    this.#options = options
  }

  /** Sends a request. Redirects are not followed. */
  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(new URL(path, this.#options.url), { redirect: 'manual', ...init })
  }

  /**
   * Asks for the price and signs it.
   *
   * @returns The headers of the payment, or the response if it asks for none.
   */
  async sign(path: string, init: RequestInit = {}): Promise<Record<string, string> | Response> {
    requireRealTimers()
    if (init.body instanceof ReadableStream)
      throw new TypeError('The body is sent twice: pass a string, a Buffer or a form.')
    const response = await this.fetch(path, init)
    const header = response.headers.get(PAYMENT_REQUIRED)
    if (response.status !== 402 || header === null) return response
    await response.body?.cancel()
    const required = decode(header) as PaymentRequired
    return { [PAYMENT_SIGNATURE]: encodeHeader(await this.#payFor(required)) }
  }

  /** Asks, signs and pays. */
  async buy(path: string, { expect, ...init }: BuyInit = {}): Promise<ShopResponse> {
    const request = `${init.method ?? 'GET'} ${path}`
    const payment = await this.sign(path, init)
    if (payment instanceof Response) {
      if (payment.status === expect) return describe(payment)
      throw await describeUnpaid(request, payment)
    }
    const response = await this.#present(path, init, payment)
    const { status, settlement } = response
    const isExpected =
      expect === undefined ? status < 400 && settlement?.success === true : status === expect
    if (isExpected) return response
    throw await errorOf(`${request} answered the payment with`, response)
  }

  async #present(
    path: string,
    init: RequestInit,
    payment: Record<string, string>,
  ): Promise<ShopResponse> {
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(payment)) headers.set(name, value)
    let mayRepeat = !this.#options.failsNext()
    for (let count = 1; ; count++) {
      const response = await describe(await this.fetch(path, { ...init, headers }), payment)
      mayRepeat &&= response.status === 503 && NOT_YET.includes(response.reason)
      if (!mayRepeat || count === MAX_PRESENTED) return response
      await response.body?.cancel()
    }
  }

  async #payFor({ resource, accepts, extensions }: PaymentRequired): Promise<object> {
    const { devnet } = this.#options
    const offer = accepts.find(({ asset }) => asset.toLowerCase() === devnet.asset.toLowerCase())
    if (offer === undefined)
      throw new Error(`The offer is not of the test shop's gateway: ${JSON.stringify(accepts)}`)
    const signed = await this.#authorize(offer)
    return {
      x402Version: 2,
      resource,
      accepted: offer,
      payload: signed.payload,
      ...((extensions ?? signed.extensions) && {
        extensions: { ...extensions, ...signed.extensions },
      }),
    }
  }

  /** A token that Permit2 moves is approved beside each payment: the payer needs no gas money for that. */
  async #authorize(
    offer: PaymentRequirements,
  ): Promise<{ readonly payload: object; readonly extensions?: object }> {
    const { payer, devnet } = this.#options
    const { privateKey, address: from } = payer
    const signedAt = Math.floor(Date.now() / 1000)
    const validBefore = signedAt + offer.maxTimeoutSeconds
    const signing = { from, chainId: devnet.chainId, signedAt, validBefore }
    const payment = signablePayment(offer, signing)
    const payload = payment.payloadOf(await signTypedData(payment.typedData, privateKey))
    if (!isPermit2(offer)) return { payload }
    const nonce = await permitNonceOf(devnet, from)
    const approval = signableApproval(offer, { ...signing, nonce })
    const info = approval.infoOf(await signTypedData(approval.typedData, privateKey))
    return { payload, extensions: { [PERMIT_SPONSORING]: { info } } }
  }
}

/** @param payment - The headers that were presented, if a payment was. */
async function describe(
  response: Response,
  payment?: Readonly<Record<string, string>>,
): Promise<ShopResponse> {
  const settled = response.headers.get(PAYMENT_RESPONSE)
  const given = settled === null ? undefined : (decode(settled) as SettleResponse)
  const header = payment?.[PAYMENT_SIGNATURE]
  // The header says only what a metered route has charged.
  const settlement =
    given?.success === true && header !== undefined
      ? { amount: (decode(header) as { accepted: PaymentRequirements }).accepted.amount, ...given }
      : given
  const reason = settlement?.success === false ? settlement.errorReason : await reasonOf(response)
  return Object.assign(response, {
    ...(settlement !== undefined && { settlement }),
    ...(reason !== undefined && { reason }),
  })
}

/** The reason of a 402, or the code of problem details (RFC 9457). */
async function reasonOf(response: Response): Promise<string | undefined> {
  const required = response.headers.get(PAYMENT_REQUIRED)
  if (required !== null) return (decode(required) as PaymentRequired).error
  if (!response.headers.get('content-type')?.startsWith('application/problem+json'))
    return undefined
  const { code } = (await response.clone().json()) as { readonly code?: string }
  return code
}

/** Makes the error for a route that asks for no payment. */
export async function describeUnpaid(path: string, response: Response): Promise<PurchaseError> {
  return errorOf(`${path} asked for no payment: it answered`, await describe(response))
}

async function errorOf(what: string, response: ShopResponse): Promise<PurchaseError> {
  const { status, reason } = response
  const text = (await response.text()).slice(0, BODY_LENGTH)
  const details = [reason, text].filter(Boolean).join(': ')
  return new PurchaseError(`${what} ${status}${details && ` (${details})`}`, { status, reason })
}

/** Decodes a header of our own gateway. */
function decode(header: string): unknown {
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
}
