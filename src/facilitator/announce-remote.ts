import { LRUCache } from 'lru-cache'
import { isFacilitatorError } from '../errors.js'
import { findNetwork } from '../protocol/networks.js'
import { parseExactEvmPayload } from '../protocol/payment.js'
import type { PaymentPayload, PaymentRequirements, SettleResponse } from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'
import type { EventBus, PaymentEvent } from '../schemes/events.js'
import { settleReserved } from './facilitator.js'
import { isRefusal } from '../schemes/scheme.js'
import type { ReservingFacilitator } from './facilitator.js'
import type { MerchantTerms, Refusal, Reservation } from '../schemes/scheme.js'

/** Settled payments that are remembered, so that each is announced once. */
const REMEMBERED = 100_000

/** A transaction was sent, and did not pay the merchant. */
const FAILED: readonly Reason[] = [
  'invalid_transaction_state',
  'invalid_exact_evm_transfer_event_mismatch',
]

/**
 * Has a facilitator that settles elsewhere tell what happens to payments, as a local one does.
 *
 * `submitted` is never told: when a transaction is sent only the facilitator knows. Where it did not
 * say what became of a settlement, `pending` has `transaction: ""`.
 */
export function announceRemote(
  facilitator: ReservingFacilitator,
  events: EventBus,
): ReservingFacilitator {
  const settled = new LRUCache<string, true>({ max: REMEMBERED })

  const tellRefusal = (
    told: PaymentEvent,
    reason: Reason,
    transaction: string | undefined,
  ): void => {
    if (reason === 'settlement_pending')
      events.emit('pending', { ...told, transaction: transaction ?? '' })
    else if (transaction && FAILED.includes(reason))
      events.emit('failed', { ...told, transaction, reason })
    else events.emit('refused', { ...told, reason })
  }

  const tellSettlement = (told: PaymentEvent, id: string, answer: SettleResponse): void => {
    if (!answer.success) return tellRefusal(told, answer.errorReason, answer.transaction)
    if (settled.has(id)) return
    settled.set(id, true)
    events.emit('settled', { ...told, transaction: answer.transaction })
  }

  const reserve: ReservingFacilitator['reserve'] = async (payload, requirements, ...rest) => {
    const [terms] = rest
    const reserved = await facilitator.reserve(payload, requirements, ...rest)
    const told = describe(payload, requirements, terms)
    if (isRefusal(reserved)) {
      tellRefusal(told, reserved.refused, reserved.transaction)
      return reserved
    }
    events.emit('verified', told)
    const id = idOf(payload, told)
    return {
      ...reserved,
      async settle() {
        const answer = await reserved.settle().catch((error: unknown) => {
          // It was asked, and may have settled.
          if (isFacilitatorError(error)) events.emit('pending', { ...told, transaction: '' })
          throw error
        })
        tellSettlement(told, id, answer)
        return answer
      },
    } satisfies Reservation
  }

  return {
    ...facilitator,
    async verify(payload, requirements, ...rest) {
      const answer = await facilitator.verify(payload, requirements, ...rest)
      const told = describe(payload, requirements, rest[0])
      if (answer.isValid) events.emit('verified', told)
      else events.emit('refused', { ...told, reason: answer.invalidReason })
      return answer
    },
    reserve,
    async settle(payload, requirements, ...rest) {
      const reserved: Reservation | Refusal = await reserve(payload, requirements, ...rest)
      return settleReserved(reserved, requirements.network)
    },
  }
}

/** What events tell of a payment. */
function describe(
  payload: PaymentPayload,
  { network, asset, amount, payTo }: PaymentRequirements,
  terms: MerchantTerms | undefined,
): PaymentEvent {
  const wire = parseExactEvmPayload(payload.payload)
  return {
    network: findNetwork(network)?.caip2 ?? network,
    asset,
    amount,
    payTo,
    payer: wire.ok ? wire.value.authorization.from : undefined,
    project: terms?.project,
  }
}

/** What an authorization is known by. */
function idOf(payload: PaymentPayload, { network, asset, payer }: PaymentEvent): string {
  const wire = parseExactEvmPayload(payload.payload)
  const nonce = wire.ok ? wire.value.authorization.nonce : ''
  return [network, asset, payer, nonce].join(' ').toLowerCase()
}
