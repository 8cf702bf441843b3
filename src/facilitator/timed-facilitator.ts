import type { Counters } from '../ledger/counters.js'
import { isRefusal, type MerchantTerms, type Reservation } from '../schemes/scheme.js'
import { decodingFacilitator } from './decoding-facilitator.js'
import type { ReservingFacilitator } from './facilitator.js'

/** Counts how long payments take, phase by phase. Refused payments and refunds are not timed. */
export function timedFacilitator(
  core: ReservingFacilitator,
  counters: Counters,
): ReservingFacilitator {
  return decodingFacilitator({
    formats: core.formats,
    supported: () => core.supported(),
    verifyPayment: (payment, terms) => core.verifyPayment(payment, terms),
    async reserve(payment, terms, options) {
      if (options?.refundOf !== undefined) return core.reserve(payment, terms, options)
      const startedAt = performance.now()
      const reserved = await core.reserve(payment, terms, options)
      if (isRefusal(reserved)) return reserved
      const reservedAt = performance.now()
      counters.time(terms?.project, 'verify', reservedAt - startedAt)
      return timed(reserved, { counters, terms, startedAt, reservedAt })
    },
  })
}

interface Started {
  readonly counters: Counters
  readonly terms: MerchantTerms | undefined
  /** By `performance.now()`. */
  readonly startedAt: number
  readonly reservedAt: number
}

function timed(
  reserved: Reservation,
  { counters, terms, startedAt, reservedAt }: Started,
): Reservation {
  const project = terms?.project
  return {
    payer: reserved.payer,
    release: () => reserved.release(),
    reopen: () => reserved.reopen(),
    async markDelivered() {
      await reserved.markDelivered()
      counters.time(project, 'total', performance.now() - startedAt)
    },
    async settle() {
      const settlingAt = performance.now()
      // Only the middleware names a method: elsewhere, no handler runs in between.
      if (terms?.purchase?.method !== undefined)
        counters.time(project, 'handler', settlingAt - reservedAt)
      const response = await reserved.settle()
      if (response.success) counters.time(project, 'settle', performance.now() - settlingAt)
      return response
    },
  }
}
