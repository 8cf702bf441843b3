/** The interface of payment schemes. */
import type { RefundRefusal } from '../../ledger/refunds.js'
import type { RedeemWithoutProof } from '../../ledger/purchase.js'
import type { BoughtAccess } from '../../ledger/record.js'
import type { PaymentDetails } from '../../ledger/payment-details.js'
import type { Asset } from '../../shared/money/assets.js'
import type { AppliedRate } from '../../shared/money/rates.js'
import type { PayloadFormat, Payment } from '../../shared/protocol/decoded-payment.js'
import { sameHex } from '../../shared/protocol/hex.js'
import { sameNetwork } from '../../shared/protocol/networks.js'
import type { Address, PaymentRequirements, SettleResponse } from '../../shared/protocol/payment.js'
import { unsettledResponse } from '../../shared/protocol/reason-words.js'
import type { Reason } from '../../shared/protocol/reasons.js'

/** One way to pay (x402 v2: `scheme`), on all networks that the gateway settles it on. @internal */
export interface Scheme {
  readonly format: SchemeFormat
  /**
   * Verifies a payment whose offer was checked: version, scheme, network, and that payer and merchant
   * mean the same entry.
   *
   * @throws {@link ChainError} when the network could not be asked, {@link LedgerError} when the ledger
   * could not.
   */
  verify(presented: PresentedPayment): Promise<Verified | Refusal>
  /** The kinds that it settles, and the senders of its transactions. */
  supported(): SchemeSupport
}

/** How payments by a scheme are offered, and how they are written. @internal */
export interface SchemeFormat extends PayloadFormat {
  /** `extra` of each entry of `accepts` for a token; none for one that it is not offered for. */
  offers(asset: Asset, asked: AskedAmount): readonly OfferExtra[]
  /**
   * Whether the payer's own key signed a payment. Where it did not, the payer's account may be a contract
   * that takes the signature nevertheless: only the chain can tell.
   */
  isSignedByPayer(payment: Payment): Promise<boolean>
}

/** What is asked of a token. @internal */
export interface AskedAmount {
  /** Whether the amount is the most that may be charged. @defaultValue false */
  readonly isMaximum?: boolean | undefined
}

/** `extra` of an entry of `accepts`. @internal */
export type OfferExtra = NonNullable<PaymentRequirements['extra']>

/** By the names that x402 gives the schemes: `exact`. @internal */
export type SchemeFormats = ReadonlyMap<string, SchemeFormat>

/** A payment as it is presented to a scheme. @internal */
export interface PresentedPayment {
  readonly payment: Payment
  readonly terms?: MerchantTerms | undefined
  /** `reserve`: a handler may run before it is settled. `settle`: it is settled at once. */
  readonly purpose: 'verify' | 'reserve' | 'settle'
  readonly onSubmitted?: ((transaction: string) => void) | undefined
  /** Id of the payment that it refunds. Refunds have events of their own: listeners count income. */
  readonly refundOf?: string | undefined
}

/** Thrown where a refund is not reserved, because its payment does not cover it. @internal */
export class RefundRefused extends Error {
  readonly refusal: RefundRefusal

  constructor(refusal: RefundRefusal) {
    super(`The refund is not covered by its payment: ${refusal.kind}.`)
    this.refusal = refusal
  }
}

/** A payment that could be settled now. @internal */
export interface Verified {
  readonly payer: Address
  /**
   * Takes it for one request. Called at most once, where it was verified for that.
   *
   * @throws {@link RefundRefused}
   */
  reserve(): Promise<Reservation | Refusal>
}

/** What a scheme settles. @internal */
export interface SchemeSupport {
  /** CAIP-2. */
  readonly networks: readonly string[]
  /** `extra` of what it supports, by CAIP-2 id. @defaultValue none */
  readonly extra?: { readonly [network: string]: OfferExtra } | undefined
  /** CAIP-2 pattern → addresses that send its transactions. */
  readonly signers: { readonly [pattern: string]: readonly Address[] }
}

/** A merchant's own terms, whatever the requirements of a payment say. A `Merchant` is one. */
export interface MerchantTerms {
  /** The merchant's address. Requirements that name another one are refused. */
  readonly payTo: Address
  /** Tokens this merchant takes. */
  readonly accepts: readonly {
    readonly network: { readonly caip2: string }
    readonly address: Address
    readonly symbol?: string | undefined
    readonly decimals?: number | undefined
  }[]
  /** Id of the merchant's project, kept with the payment. */
  readonly project?: string | undefined
  /** Whether the merchant takes nothing new for now: only payments that are open already. @defaultValue false */
  readonly paused?: boolean | undefined
  /**
   * How long an authorization must still be valid when it is verified or reserved (s): for the
   * handler and the settlement. @defaultValue `min(30, maxTimeoutSeconds / 2)`
   */
  readonly minValiditySeconds?: number | undefined
  /** How the amount came about, kept with the payment. */
  readonly appliedRate?: AppliedRate | undefined
  /** Details for the merchant's books, kept with the payment. The request gives `resource` and `method`. */
  readonly details?: PaymentDetails | undefined
  /** The resource and the buyer. The payment buys nothing else, and for no other buyer. */
  readonly purchase?: PurchaseTerms | undefined
  /** Treatment of an open payment whose client dropped its offer id. @defaultValue `'same-address'` */
  readonly redeemWithoutProof?: RedeemWithoutProof | undefined
}

/** What a payment is presented for. What is left out is taken from the payment itself. */
export interface PurchaseTerms {
  /** `GET` also for `HEAD`, which costs the same. */
  readonly method?: string | undefined
  /** The resource that is paid for. */
  readonly url?: string | undefined
  /** The route that sells it, with the paths of its routers. */
  readonly route?: string | undefined
  /** Its declared price, as records name it. */
  readonly price?: string | undefined
  /** A fingerprint of the request's body, where what is charged may depend on it. */
  readonly body?: string | undefined
  /** The address that the buyer's request came from; left out where that is not the buyer's own. */
  readonly client?: string | undefined
  /** Whether only a payment that is open already is taken: the quote it was made for has expired. */
  readonly redeemOnly?: boolean | undefined
  /**
   * Names who asks for a settlement: a hash of the `Idempotency-Key`. What became of the settlement is told
   * again to the same asker only.
   */
  readonly asker?: string | undefined
  /** The access for a time that it buys as well. @internal */
  readonly access?: BoughtAccess | undefined
}

/** A refused payment. @internal */
export interface Refusal {
  readonly refused: Reason
  /** More precise words than those of the reason. */
  readonly message?: string | undefined
  readonly payer?: Address | undefined
  /** The transaction of this authorization, where it failed or is still pending. */
  readonly transaction?: string | undefined
  /** The transaction that settled this very purchase before; nothing was sent now. */
  readonly settledBy?: string | undefined
  /** Whether it was settled before, for this very purchase: nothing is lost. */
  readonly isRepeat?: boolean | undefined
  /** The remote facilitator's own words about it. */
  readonly facilitatorMessage?: string | undefined
  /** What the entry of the next 402 says in addition, in its `extra`: what the next payment has to build on. */
  readonly offerExtra?: OfferExtra | undefined
}

/**
 * A verified payment that belongs to one request, until it is settled or released.
 *
 * It ends with `release` if nothing was settled, else with `markDelivered` or `reopen`; a delivery that failed
 * ends with `undeliver`.
 *
 * @internal
 */
export interface Reservation {
  readonly payer: Address
  /** Names the lock that this request has on the payment, and its delivery. Absent if the ledger has neither. */
  readonly lock?: string | undefined
  /**
   * Moves the money and waits for the outcome.
   *
   * @param charge - Token units, where the price is a maximum. @defaultValue the amount of the payment
   */
  settle(charge?: { readonly amount: bigint }): Promise<SettleResponse>
  /** Gives the payment back unused: nothing was delivered. */
  release(): Promise<void>
  /**
   * Records that what was paid for is about to be given. Called before the response goes out.
   *
   * @throws {@link LedgerError} when that could not be recorded: then the response must not go out.
   */
  markDelivered(): Promise<void>
  /** The money moved, but its payer got nothing for it: the payment may be presented once more. */
  reopen(): Promise<void>
  /** Nothing went out after `markDelivered`: the payment may be presented once more. */
  undeliver(): Promise<void>
}

/** Type guard for {@link Refusal}. @internal */
export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}

/** A refusal, as settle answers it. @internal */
export function refusalResponse(
  { refused: reason, ...refusal }: Refusal,
  network: string,
): Extract<SettleResponse, { success: false }> {
  return unsettledResponse({ reason, ...refusal, network })
}

/** The same terms, on which nothing new is taken: only what is open already. */
export function redeemingOnly<Terms extends MerchantTerms>(terms: Terms): Terms {
  return { ...terms, purchase: { ...terms.purchase, redeemOnly: true } }
}

/** Checks that the merchant takes this token on this network, to this address. */
export function checkTerms(
  { network, asset, payTo }: PaymentRequirements,
  terms: MerchantTerms,
): Reason | undefined {
  const onNetwork = terms.accepts.filter((entry) => sameNetwork(entry.network.caip2, network))
  if (onNetwork.length === 0) return 'invalid_network'
  if (!onNetwork.some((entry) => sameHex(entry.address, asset))) return 'unsupported_asset'
  if (!sameHex(terms.payTo, payTo)) return 'pay_to_mismatch'
  return undefined
}
