/** A payment that a remote facilitator settles, and its dependencies. */
import type { Payment } from '../../shared/protocol/decoded-payment.js'
import type { Address } from '../../shared/protocol/payment.js'
import type { ReservationContext, ReservedPayment } from '../schemes/open-reservation.js'
import type { MerchantTerms } from '../schemes/scheme.js'
import type { Facilitator } from './facilitator.js'
import type { RemoteCallers } from './remote-callers.js'
import type { RemoteLog } from './remote-log.js'

export interface RemoteContext extends ReservationContext {
  /** Verifies and settles. */
  readonly facilitator: Facilitator
  /** Ends the wait for an answer: the gateway closes. */
  readonly closed?: AbortSignal | undefined
  readonly log: RemoteLog
  /** Callers of metered payments there. @defaultValue it meters nothing */
  readonly callers?: Pick<RemoteCallers, 'doubt'> | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Part of every idempotency key: gateways that share a ledger are one asker, others are not. */
  readonly secret: () => Promise<string>
}

export interface RemotePayment extends ReservedPayment {
  /** Whether the payer's own key signed it. */
  readonly isSigned: boolean
}

export function termsOf({
  requirements,
  network,
}: Pick<Payment, 'requirements' | 'network'>): MerchantTerms {
  const { payTo, asset } = requirements
  const accepted = {
    network: { caip2: network?.caip2 ?? requirements.network },
    address: asset as Address,
  }
  return { payTo: payTo as Address, accepts: [accepted] }
}
