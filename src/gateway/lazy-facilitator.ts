import { decodingFacilitator } from '../core/facilitator/decoding-facilitator.js'
import type { ReservingFacilitator } from '../core/facilitator/facilitator.js'
import {
  isRefusal,
  type Refusal,
  type Reservation,
  type SchemeFormats,
} from '../core/schemes/scheme.js'
import type { Core } from './parts/core.js'
import type { Lazy } from '../shared/http/lazy.js'
import type { OpenRequests } from '../shared/http/open-requests.js'

interface LazyParts {
  readonly core: Lazy<Pick<Core, 'facilitator'>>
  /** The webhooks of the configuration. */
  readonly declared: Lazy<void>
}

/**
 * A facilitator whose core is loaded by the first payment, if it was not before. A payment waits until the ledger has
 * the declared webhooks: they are told of it.
 */
export function lazyFacilitator(
  { core, declared }: LazyParts,
  formats: SchemeFormats,
  requests: OpenRequests,
): ReservingFacilitator {
  const { verifyPayment, reserve }: Pick<ReservingFacilitator, 'verifyPayment' | 'reserve'> = {
    verifyPayment: async (...given) => (await core.get()).facilitator.verifyPayment(...given),
    async reserve(...given) {
      await declared.get()
      return (await core.get()).facilitator.reserve(...given)
    },
  }
  // Its request has been answered. If it cannot be released, its lock ends with this process.
  const release = (late: Reservation | Refusal): void =>
    void (isRefusal(late) || late.release().catch(() => undefined))
  return decodingFacilitator({
    formats,
    verifyPayment: (...given) => requests.ask(verifyPayment(...given)),
    reserve: (...given) => requests.ask(reserve(...given), release),
    supported: async () => (await core.get()).facilitator.supported(),
  })
}
