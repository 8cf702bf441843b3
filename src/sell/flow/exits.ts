import type { OutsideFailure } from '../../shared/errors.js'
import type { Logger } from '../../shared/logger.js'
import type { SettleResponse } from '../../shared/protocol/payment.js'
import { requestFields, type LoggedRequest } from '../respond/log-fields.js'
import type { Offer } from '../route/offer.js'
import type { ExceededLimit } from './payment-rate-limit.js'
import type { Receipt } from '../route/payment-dialect.js'
import type { AskingStatus } from '../route/payment-required.js'
import type { Undelivered } from '../respond/undelivered.js'

/** What became of a payment that was not settled, or is not known to be. */
export type Unsettled = Extract<SettleResponse, { success: false }>

/** Every way in which a paid request ends. */
export type Exit =
  /** Nothing is left to write: the handler's response goes out, or the client has disconnected. */
  | { readonly kind: 'over' }
  /** No payment was presented, or one that is refused. `error` is a reason, or text. */
  | {
      readonly kind: 'payment_required'
      readonly offer: Offer
      readonly error: string
      /** A reason in words, where more is known than what it always means. */
      readonly message?: string | undefined
      /** 400 if the payment header is unreadable. @defaultValue 402 */
      readonly status?: AskingStatus | undefined
    }
  /** The settlement failed, or the payment was settled before. */
  | {
      readonly kind: 'not_settled'
      readonly offer: Offer
      readonly settlement: Unsettled
      readonly receipt: Receipt
    }
  /** A transaction was written down, and its outcome is unknown; the node may not take it yet. */
  | { readonly kind: 'settlement_pending'; readonly receipt: Receipt }
  /** The response to the first request with this payment is given again. */
  | { readonly kind: 'repeated'; readonly stored: string }
  /** The first request with this payment still runs. */
  | { readonly kind: 'busy' }
  /** Another payment has this payment's id. */
  | { readonly kind: 'conflict' }
  /** Too many requests from this address or payer. */
  | ExceededLimit
  /** There is no memory left to hold another response. */
  | { readonly kind: 'server_busy' }
  /** The gateway is closing. */
  | { readonly kind: 'shutting_down' }
  /** The merchant takes nothing new for now. */
  | { readonly kind: 'merchant_paused' }
  /** There is no merchant that could be paid. */
  | { readonly kind: 'nobody_paid' }
  /** The handler answered a condition or a range, or led to another paid route, which costs nothing. */
  | Undelivered
  /** The handler's response is larger than what may be held. */
  | { readonly kind: 'too_large' }
  /** A chain, a rate, the ledger or a relayer failed. */
  | { readonly kind: 'outside_failure'; readonly failure: OutsideFailure }

/** Logs a failure of the world outside. @returns Its exit. */
export function outsideFailure(
  { logger }: { readonly logger: Logger },
  failure: OutsideFailure,
  logged: LoggedRequest,
): Exit {
  const fields = { code: failure.code, ...requestFields(logged) }
  logger.error(`A payment could not be taken: ${failure.message}`, { ...fields, error: failure })
  return { kind: 'outside_failure', failure }
}
