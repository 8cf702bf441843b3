import { decodePayment } from '../protocol/decoded-payment.js'
import type { SettleResponse } from '../protocol/payment.js'
import { isRefusal, refusalResponse, type Refusal, type Reservation } from '../schemes/scheme.js'
import type { FacilitatorCore, ReservingFacilitator } from './facilitator.js'

/** Adds the methods of x402 to a core: they decode a payment and hand it on. */
export function decodingFacilitator(core: FacilitatorCore): ReservingFacilitator {
  return {
    ...core,
    verify: async (payload, requirements, terms) =>
      core.verifyPayment(decodePayment(payload, requirements, core.formats), terms),
    async settle(payload, requirements, terms) {
      const payment = decodePayment(payload, requirements, core.formats)
      const reserved = await core.reserve(payment, terms, { isSettledNow: true })
      return settleReserved(reserved, requirements.network)
    },
  }
}

/** Settles what was reserved, for a caller who waits for the response. */
async function settleReserved(
  reserved: Reservation | Refusal,
  network: string,
): Promise<SettleResponse> {
  if (isRefusal(reserved)) return refusalResponse(reserved, network)
  const response = await reserved.settle()
  if (response.success) await reserved.markDelivered()
  return response
}
