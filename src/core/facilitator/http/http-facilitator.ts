import { ConfigError, FacilitatorError } from '../../../shared/errors.js'
import { fingerprintOf, idempotencyKey } from '../../../ledger/once/fingerprint.js'
import { sameNetwork } from '../../../shared/protocol/networks.js'
import { isHexAddress } from '../../../shared/protocol/primitives.js'
import {
  UPTO,
  type PaymentPayload,
  type PaymentRequirements,
  type SettleResponse,
  type SupportedResponse,
  type VerifyResponse,
} from '../../../shared/protocol/payment.js'
import { isHttpUrl } from '../../../shared/http/http-url.js'
import type { Facilitator } from '../facilitator.js'
import { ask } from './ask.js'
import { checkHeaders, type FacilitatorHeaders } from './request-headers.js'
import { hashOrNone, settleSchema, supportedSchema, verifySchema } from './results.js'
import { world } from '../../../shared/world.js'

/** More than the 25 s that our own gateways take at most for a settlement. */
const DEFAULT_TIMEOUT_MS = 35_000

/**
 * Options of {@link httpFacilitator}.
 *
 * @example
 * ```ts
 * import type { HttpFacilitatorOptions } from 'express-x402-gateway'
 *
 * const options: HttpFacilitatorOptions = {
 *   url: 'https://pay.example.com/api/v2/payment',
 *   token: process.env['X402_PROJECT_TOKEN'] ?? '',
 * }
 * ```
 */
export interface HttpFacilitatorOptions {
  /** Base URL of the facilitator: `POST <url>/verify` and so on. Ours: `<gateway>/api/v2/payment`. */
  readonly url: string
  /** Identify token of your project there, sent as `X-Project-Identify-Token`. @defaultValue no token */
  readonly token?: string
  /**
   * Sent with every request, for facilitators that authenticate in another way; a function makes them
   * anew for each request. @defaultValue no headers
   */
  readonly headers?: Readonly<Record<string, string>> | FacilitatorHeaders
  /** Milliseconds until a whole response must have arrived. @defaultValue 35000 */
  readonly timeoutMs?: number
}

/**
 * Uses a facilitator elsewhere, over HTTP (x402 v2 §7): another gateway of ours or anybody's.
 *
 * It settles the schemes that its `GET /supported` lists: `exact`, and `upto` for routes with a maximum
 * (`x402Protect({ upTo })`), of which it is told what to take.
 *
 * Settlements carry an `Idempotency-Key`: when a response was lost, asking again gives the same
 * result, if the facilitator supports such keys. The methods throw {@link FacilitatorError}
 * (`facilitator_unreachable`, `facilitator_refused`) when no result came; what the facilitator has
 * done is then unknown.
 *
 * @param options - Where it is, and how to authenticate.
 * @returns The option `facilitator` of `createGateway`.
 * @throws {@link ConfigError} (`config_invalid`) when `url` is not an absolute http(s) URL, or `headers`
 * are none.
 *
 * @example
 * ```ts
 * import { createGateway, httpFacilitator } from 'express-x402-gateway'
 *
 * const gateway = createGateway({
 *   facilitator: httpFacilitator({
 *     url: 'https://pay.example.com/api/v2/payment',
 *     token: process.env['X402_PROJECT_TOKEN'] ?? '',
 *   }),
 *   networks: { base: {} },
 *   projects: [
 *     { id: 'shop', merchant: { payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C' } },
 *   ],
 * })
 * ```
 *
 * @example
 * ```ts
 * import { httpFacilitator } from 'express-x402-gateway'
 *
 * declare function signToken(method: string, url: string): Promise<string>
 *
 * const facilitator = httpFacilitator({
 *   url: 'https://facilitator.example/x402',
 *   headers: async ({ method, url }) => ({ authorization: `Bearer ${await signToken(method, url)}` }),
 * })
 * ```
 */
export function httpFacilitator(options: HttpFacilitatorOptions): Facilitator {
  const { url, token, headers = {}, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  if (!isHttpUrl(url))
    throw new ConfigError('facilitator.url', 'must be an absolute http(s) URL', 'invalid_url')
  checkHeaders(headers)
  const remote = { url: url.replace(/\/+$/, ''), token, headers, timeoutMs }
  /** Part of the idempotency keys of callers that do not say who asks. */
  const anybody = world.randomUUID()

  return {
    async verify(payload, requirements): Promise<VerifyResponse> {
      const answer = await ask(remote, {
        path: 'verify',
        schema: verifySchema,
        body: submission(payload, requirements),
      })
      const payer = payerOf(payload)
      if (answer.isValid) {
        requireOwn('verify', answer, { payer })
        return { isValid: true, payer }
      }
      const { isValid, invalidReason, invalidMessage } = answer
      return { isValid, invalidReason, ...(invalidMessage && { invalidMessage }), payer }
    },
    async settle(payload, requirements, terms): Promise<SettleResponse> {
      const body = submission(payload, requirements)
      const key = terms?.purchase?.asker ?? idempotencyKey(anybody, fingerprintOf(body))
      const schema = settleSchema(requirements)
      const answer = await ask(remote, { path: 'settle', schema, body, key })
      const payer = payerOf(payload)
      const { network } = requirements
      if (answer.success) {
        requireOwn('settle', answer, { payer, network })
        const { transaction } = answer
        const amount = requirements.scheme === UPTO ? answer.amount : undefined
        return { success: true, transaction, network, payer, ...(amount && { amount }) }
      }
      const { success, errorReason, errorMessage } = answer
      const settledBy = hashOrNone(answer.settledBy)
      return {
        success,
        errorReason,
        ...(errorMessage && { errorMessage }),
        transaction: hashOrNone(answer.transaction) ?? '',
        ...(settledBy && { settledBy }),
        network,
        payer,
      }
    },
    supported: () => ask<SupportedResponse>(remote, { path: 'supported', schema: supportedSchema }),
  }
}

/**
 * Checks that a confirmation is about the payment that was asked about.
 *
 * @throws {@link FacilitatorError} (`facilitator_refused`) when payer or network differ: the outcome
 * of our payment is then unknown.
 */
function requireOwn(
  path: string,
  answer: {
    readonly payer?: string | null | undefined
    readonly network?: string | null | undefined
  },
  asked: { readonly payer: string; readonly network?: string },
): void {
  const { payer, network } = answer
  const isOther = payer && asked.payer && payer.toLowerCase() !== asked.payer.toLowerCase()
  const isElsewhere =
    network && asked.network && network !== asked.network && !sameNetwork(network, asked.network)
  if (isOther || isElsewhere)
    throw new FacilitatorError(
      'facilitator_refused',
      `The facilitator answered ${path} for another ${isOther ? 'payer' : 'network'}.`,
    )
}

/** The payer that an authorization or a permit names; `""` where there is none. */
function payerOf({ payload }: PaymentPayload): string {
  const signed: unknown = payload['authorization'] ?? payload['permit2Authorization']
  const { from } = Object(signed) as { readonly from?: unknown }
  return typeof from === 'string' && isHexAddress(from) ? from : ''
}

function submission(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements) {
  return { x402Version: paymentPayload.x402Version, paymentPayload, paymentRequirements }
}
