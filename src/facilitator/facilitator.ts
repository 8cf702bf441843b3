/** What verifies and settles payments, in this process or elsewhere. */
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '../protocol/payment.js'
import { isRefusal, refusalResponse } from '../schemes/scheme.js'
import type { MerchantTerms, Refusal, Reservation } from '../schemes/scheme.js'

/** The three methods of a facilitator (x402 v2 §7). */
export interface Facilitator {
  /**
   * Tells whether a payment could be settled now; moves no money.
   *
   * @param terms - What the merchant takes; leave out to trust the requirements.
   * @throws {@link ChainError} when the network could not be asked.
   */
  verify(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    terms?: MerchantTerms,
  ): Promise<VerifyResponse>
  /**
   * Settles a payment on chain and waits for the outcome.
   *
   * @throws {@link ChainError}, {@link LedgerError} or {@link RelayerError} when nothing was sent.
   */
  settle(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    terms?: MerchantTerms,
  ): Promise<SettleResponse>
  /** Networks and schemes on offer, and the addresses that send transactions. */
  supported(): Promise<SupportedResponse>
}

/** Settles what was reserved, for a caller who is there to have the answer. */
export async function settleReserved(
  reserved: Reservation | Refusal,
  network: string,
): Promise<SettleResponse> {
  if (isRefusal(reserved)) return refusalResponse(reserved, network)
  const answer = await reserved.settle()
  if (answer.success) await reserved.markDelivered()
  return answer
}

/** A facilitator that can also take a payment for one request alone, between verify and settle. */
export interface ReservingFacilitator extends Facilitator {
  /** Verifies a payment and takes it, atomically: of many requests with it, one gets it. */
  reserve(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    terms?: MerchantTerms,
  ): Promise<Reservation | Refusal>
}
