/** Facilitators: they verify and settle payments, in this process or elsewhere. */
import type { Payment } from '../../shared/protocol/decoded-payment.js'
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '../../shared/protocol/payment.js'
import type { MerchantTerms, Refusal, Reservation, SchemeFormats } from '../schemes/scheme.js'

/**
 * The three methods of a facilitator (x402 v2 §7).
 *
 * @example
 * ```ts
 * import type { Facilitator } from 'express-x402-gateway'
 *
 * async function networks(facilitator: Facilitator): Promise<readonly string[]> {
 *   const { kinds } = await facilitator.supported()
 *   return kinds.map(({ network }) => network)
 * }
 * ```
 */
export interface Facilitator {
  /**
   * Tells whether a payment could be settled now; moves no money.
   *
   * @param payload - What the client signed, as it was sent.
   * @param requirements - The entry of `accepts` that it is to pay.
   * @param terms - What the merchant takes; leave out to trust the requirements.
   * @returns That the payment is valid, or why it is not.
   * @throws {@link ChainError} when the network could not be asked, {@link LedgerError} when the ledger
   * could not.
   */
  verify(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    terms?: MerchantTerms,
  ): Promise<VerifyResponse>
  /**
   * Settles a payment on chain and waits for the outcome.
   *
   * @param payload - What the client signed, as it was sent.
   * @param requirements - The entry of `accepts` that it is to pay.
   * @param terms - What the merchant takes; leave out to trust the requirements.
   * @returns The transaction that paid, or why the payment was not, or not yet, settled.
   * @throws {@link ChainError}, {@link LedgerError} or {@link RelayerError} when nothing was sent.
   */
  settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    terms?: MerchantTerms,
  ): Promise<SettleResponse>
  /**
   * Lists what can be settled.
   *
   * @returns Schemes and networks on offer, and the addresses that send transactions.
   */
  supported(): Promise<SupportedResponse>
}

/** One of several facilitators, and the networks whose payments it verifies and settles. */
export interface NetworkFacilitator {
  /** `httpFacilitator({ url, token })`, or an object with its three methods. */
  readonly facilitator: Facilitator
  /** Names or CAIP-2 ids, each of them a network of the gateway, and with no other facilitator. */
  readonly networks: readonly string[]
  /**
   * Lets it settle one in so many payments of each route, so that its catalogue lists the route: `'1 in 100'`. This
   * process settles the others, and what the facilitator has not settled within 8 s. Only fixed prices paid by ERC-3009
   * count. @defaultValue all payments on its networks
   */
  readonly share?: `1 in ${number}` | undefined
}

/** A facilitator's networks. @internal */
export interface OnNetworks {
  /** CAIP-2. @defaultValue all */
  readonly networks?: readonly string[] | undefined
}

/** Whether a facilitator settles on a network. @internal */
export const settlesOn = ({ networks }: OnNetworks, caip2: string): boolean =>
  networks?.includes(caip2) ?? true

/** The core of a facilitator, which takes payments that are decoded. @internal */
export interface FacilitatorCore {
  /** The schemes that it settles. */
  readonly formats: SchemeFormats
  /** As {@link Facilitator.verify}. */
  verifyPayment(payment: Payment, terms?: MerchantTerms): Promise<VerifyResponse>
  /**
   * Verifies a payment and takes it for one request alone, atomically: of many requests with it, one
   * gets it.
   *
   * @param options - Whether it is settled at once, with no handler before; and the payment that it
   * refunds, if it does.
   * @throws {@link RefundRefused}
   */
  reserve(
    payment: Payment,
    terms?: MerchantTerms,
    options?: { readonly isSettledNow?: boolean; readonly refundOf?: string | undefined },
  ): Promise<Reservation | Refusal>
  /** As {@link Facilitator.supported}. */
  supported(): Promise<SupportedResponse>
}

/** A facilitator that can also take a payment between verify and settle. @internal */
export interface ReservingFacilitator extends Facilitator, FacilitatorCore {}
