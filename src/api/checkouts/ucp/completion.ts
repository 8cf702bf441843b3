/** How a shop answers `complete_checkout`: every outcome of a payment, in the words of UCP. */
import type { GatewayErrorCode } from '../../../shared/errors.js'
import type {
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
} from '../../../shared/protocol/payment.js'
import { explainReason, isUndecided } from '../../../shared/protocol/reason-words.js'
import { isNonceUsed, type Reason } from '../../../shared/protocol/reasons.js'

/** A message in a UCP checkout. */
export type UcpMessage =
  | { readonly type: 'info'; readonly code: string; readonly content: string }
  | {
      readonly type: 'error'
      readonly code: 'payment_failed'
      readonly content: string
      /** The platform can do something about it: pay otherwise, or later. */
      readonly severity: 'recoverable'
    }

/** The payment that an order is placed for. It is verified and reserved, and not settled yet. */
export interface UcpPayment {
  /** Address of the payer. */
  readonly payer: string
  /** The entry of `accepts` that was chosen: amount, token and network. */
  readonly offer: PaymentRequirements
}

/**
 * Options of `gateway.completeWithX402`.
 *
 * @example
 * ```ts
 * import type { UcpCompletionOptions } from 'express-x402-gateway'
 *
 * declare const checkout: { readonly x402: UcpCompletionOptions['config'] }
 * const reserved = new Set<object>()
 * const options: UcpCompletionOptions = {
 *   config: checkout.x402,
 *   placeOrder: () => reserved.add(checkout),
 *   cancelOrder: () => reserved.delete(checkout),
 * }
 * ```
 */
export interface UcpCompletionOptions {
  /** The handler's `config` in this checkout: as `checkout-prepare` wrote it for the present total. */
  readonly config: Pick<PaymentRequired, 'resource' | 'accepts'>
  /**
   * Places the order, before anything is charged. What it throws releases the payment, and is thrown on. It is
   * called again for the same checkout if the process died meanwhile or the ledger failed: an order that is
   * there will do.
   */
  readonly placeOrder: (payment: UcpPayment) => unknown
  /** Takes the order back: its payment was not settled after all. @defaultValue nothing is done */
  readonly cancelOrder?: (() => unknown) | undefined
  /** Id of the project that is paid. @defaultValue the only project with a merchant */
  readonly merchant?: string | undefined
}

/**
 * What became of a payment, for the response: `status` and `messages` are those of the checkout.
 *
 * @example
 * ```ts
 * import type { UcpCompletion } from 'express-x402-gateway'
 *
 * const describe = (completion: UcpCompletion): string =>
 *   completion.status === 'completed'
 *     ? `paid by ${completion.settlement.transaction}`
 *     : completion.messages.map(({ content }) => content).join(' ')
 * ```
 */
export type UcpCompletion =
  /** The order is placed and paid. */
  | {
      readonly status: 'completed'
      readonly httpStatus: 200
      readonly messages: readonly UcpMessage[]
      readonly settlement: Extract<SettleResponse, { success: true }>
    }
  /** Whether it is paid is not known yet. 503: the ledger could not be asked. */
  | {
      readonly status: 'complete_in_progress'
      readonly httpStatus: 200 | 503
      readonly messages: readonly UcpMessage[]
    }
  /** Nothing is paid, and no order is left. 503: the payment was not to blame. */
  | {
      readonly status: 'ready_for_complete'
      readonly httpStatus: 200 | 503
      readonly messages: readonly UcpMessage[]
      /** For the log of the shop. */
      readonly reason: Reason | GatewayErrorCode
    }

/** A checkout whose payment is out, or whose payment cannot be looked up. */
export const inProgress = (httpStatus: 200 | 503 = 200): UcpCompletion => ({
  status: 'complete_in_progress',
  httpStatus,
  messages: [
    {
      type: 'info',
      code: 'payment_in_progress',
      content: 'The outcome of the payment is not known yet. Do not sign another one.',
    },
  ],
})

/** A checkout that may be completed with another payment, or later. */
export function notPaid(
  reason: Reason | GatewayErrorCode,
  { content, httpStatus = 200 }: { readonly content: string; readonly httpStatus?: 200 | 503 },
): UcpCompletion {
  const message = {
    type: 'error',
    code: 'payment_failed',
    content,
    severity: 'recoverable',
  } as const
  return { status: 'ready_for_complete', httpStatus, messages: [message], reason }
}

/** Reasons that only the shop can do something about: nothing that the buyer signs would help. */
const MISTAKES_OF_SHOP: ReadonlySet<Reason> = new Set([
  'unsupported_scheme',
  'invalid_network',
  'invalid_exact_evm_eip3009_not_supported',
  'permit2_proxy_not_deployed',
  'asset_not_deployed_contract',
  'unsupported_asset',
  'pay_to_mismatch',
  'pay_to_blacklisted',
])

/** A checkout whose payment was refused, or is being settled by another request. */
export function refused(reason: Reason, message = explainReason(reason)): UcpCompletion {
  if (isUndecided(reason) && !isNonceUsed(reason)) return inProgress()
  const content = MISTAKES_OF_SHOP.has(reason)
    ? 'The shop cannot take this payment now; nothing was charged. Pay in another way.'
    : message
  return notPaid(reason, { content: content ?? 'The payment was refused.' })
}
