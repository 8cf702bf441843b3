import { decodePayment } from '../../shared/protocol/decoded-payment.js'
import type { SettleResponse } from '../../shared/protocol/payment.js'
import { chargedPayment, type Charge } from './charged-payment.js'
import { isRefusal, refusalResponse, type Refusal, type Reservation } from '../schemes/scheme.js'
import type { FacilitatorCore, ReservingFacilitator } from './facilitator.js'

/** Adds the methods of x402 to a core: they decode a payment and hand it on. */
export function decodingFacilitator(core: FacilitatorCore): ReservingFacilitator {
  return {
    ...core,
    verify: async (payload, requirements, terms) =>
      core.verifyPayment(decodePayment(payload, requirements, core.formats), terms),
    async settle(payload, requirements, terms) {
      const decoded = decodePayment(payload, requirements, core.formats)
      const { payment, charge } = chargedPayment(decoded, core.formats)
      const reserved = await core.reserve(payment, terms, { isSettledNow: true })
      return settleReserved(reserved, requirements.network, charge)
    },
  }
}

async function settleReserved(
  reserved: Reservation | Refusal,
  network: string,
  charge: Charge | undefined,
): Promise<SettleResponse> {
  if (isRefusal(reserved)) return refusalResponse(reserved, network)
  const response = await reserved.settle(charge)
  if (response.success) await reserved.markDelivered()
  return response
}
