/** What a payment scheme is given, and what it gives back. */
import type { RedeemWithoutProof } from '../ledger/purchase.js'
import type { AppliedRate } from '../money/rates.js'
import type { Address, SettleResponse } from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'

/** What a merchant takes, whatever the requirements of a payment say. A `Merchant` is one. */
export interface MerchantTerms {
  /** Where this merchant's money goes. Requirements that name another address are refused. */
  readonly payTo: Address
  /** Tokens this merchant takes. */
  readonly accepts: readonly {
    readonly network: { readonly caip2: string }
    readonly address: Address
  }[]
  /** Id of the merchant's project, kept with the payment. */
  readonly project?: string | undefined
  /**
   * Seconds that an authorization must still live when it is verified or reserved: for the handler
   * and the settlement. @defaultValue `min(30, maxTimeoutSeconds / 2)`
   */
  readonly minValiditySeconds?: number | undefined
  /** How the amount came about, kept with the payment. */
  readonly appliedRate?: AppliedRate | undefined
  /** What is bought with the payment, and by whom: it redeems nothing else, and for nobody else. */
  readonly purchase?: PurchaseTerms | undefined
  /** What happens to an open payment whose client dropped its offer id. @defaultValue `'same-address'` */
  readonly redeemWithoutProof?: RedeemWithoutProof | undefined
}

/** What a payment is presented for. What is left out is taken from the payment itself. */
export interface PurchaseTerms {
  /** `GET` also for `HEAD`, which costs the same. */
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** The address that the buyer's request came from; left out where that is not the buyer's own. */
  readonly client?: string | undefined
  /** Whether only a payment that is open already is taken: the quote it was made for has expired. */
  readonly redeemOnly?: boolean | undefined
}

/** A refused payment. */
export interface Refusal {
  readonly refused: Reason
  readonly payer?: Address | undefined
  /** The transaction that this authorization went out with, where it failed or is still pending. */
  readonly transaction?: string | undefined
  /** The transaction that settled this very purchase before; nothing was sent now. */
  readonly settledBy?: string | undefined
}

/** A refusal, as settle answers it. */
export function refusalResponse(
  { refused: errorReason, payer, transaction = '', settledBy }: Refusal,
  network: string,
): Extract<SettleResponse, { success: false }> {
  return {
    success: false,
    errorReason,
    transaction,
    ...(settledBy && { settledBy }),
    network,
    ...(payer && { payer }),
  }
}

/** Tells a refusal from what would have been returned without it. */
export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}

/**
 * A verified payment that belongs to one request, until it is settled or released.
 *
 * `release` ends it where nothing was settled; `grant` or `reopen` where something was.
 */
export interface Reservation {
  readonly payer: Address
  /** Moves the money and waits for the outcome. */
  settle(): Promise<SettleResponse>
  /** Gives the payment back unused: the request came to nothing. */
  release(): Promise<void>
  /**
   * The money moved, and the answer is about to go out. Asked for before it does.
   *
   * @throws {@link LedgerError} when that could not be written down: then it must not go out.
   */
  markDelivered(): Promise<void>
  /** The money moved, but its payer got nothing for it: the payment may be presented once more. */
  reopen(): Promise<void>
}
