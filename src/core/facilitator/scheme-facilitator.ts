import { isReadable } from '../../shared/protocol/decoded-payment.js'
import {
  X402_VERSION,
  type Address,
  type SupportedResponse,
} from '../../shared/protocol/payment.js'
import { invalidResponse } from '../../shared/protocol/reason-words.js'
import { paymentEvent, type EventBus } from '../schemes/events.js'
import { askHook } from '../schemes/ask-hook.js'
import type { PaymentHook, PaymentHooks } from '../schemes/payment-hooks.js'
import { isRefusal, redeemingOnly } from '../schemes/scheme.js'
import type { PresentedPayment, Refusal, Reservation, Scheme, Verified } from '../schemes/scheme.js'
import { checkOffer } from './check-offer.js'
import { decodingFacilitator } from './decoding-facilitator.js'
import type { ReservingFacilitator } from './facilitator.js'
import { termsOf } from './remote-payment.js'

export interface SchemeFacilitatorOptions extends Pick<PaymentHooks, 'beforeVerify'> {
  /** By the name that x402 gives them: `exact`. */
  readonly schemes: ReadonlyMap<string, Scheme>
  readonly events: EventBus
}

/** Verifies and settles by schemes. That of a remote facilitator asks elsewhere; its reservations are here. */
export function createSchemeFacilitator(options: SchemeFacilitatorOptions): ReservingFacilitator {
  const { schemes, events } = options

  const announce = (presented: PresentedPayment, found: Refusal | { payer: Address }): void => {
    if (presented.refundOf !== undefined) return
    const { payment, terms } = presented
    if (isRefusal(found)) announceRefusal(events, presented, found)
    else events.emit('verified', paymentEvent({ payment, terms, payer: found.payer }))
  }

  return decodingFacilitator({
    formats: new Map([...schemes].map(([name, { format }]) => [name, format])),
    async verifyPayment(payment, terms) {
      const presented = { payment, terms, purpose: 'verify' } as const
      const found = await verify(options, presented)
      announce(presented, found)
      return isRefusal(found)
        ? invalidResponse({ reason: found.refused, ...found })
        : { isValid: true, payer: found.payer }
    },
    async reserve(payment, terms, { isSettledNow = false, refundOf } = {}) {
      const purpose = isSettledNow ? 'settle' : 'reserve'
      const presented = { payment, terms, purpose, refundOf } as const
      const found = await verify(options, presented)
      const reserved = isRefusal(found) ? found : await found.reserve()
      announce(presented, reserved)
      return reserved
    },
    async supported() {
      const all = [...schemes].map(([scheme, one]) => ({ scheme, ...one.supported() }))
      return {
        kinds: all.flatMap(({ scheme, networks, extra }) =>
          networks.map((network) => ({
            x402Version: X402_VERSION,
            scheme,
            network,
            ...(extra?.[network] && { extra: extra[network] }),
          })),
        ),
        extensions: [],
        signers: mergeSigners(all),
      }
    },
  })
}

/** Each address once under its pattern. */
export function mergeSigners(
  all: readonly Pick<SupportedResponse, 'signers'>[],
): SupportedResponse['signers'] {
  const signers = new Map<string, Set<string>>()
  for (const [pattern, addresses] of all.flatMap((one) => Object.entries(one.signers)))
    signers.set(pattern, new Set([...(signers.get(pattern) ?? []), ...addresses]))
  return Object.fromEntries([...signers].map(([pattern, set]) => [pattern, [...set]]))
}

type Stop = Promise<Refusal | undefined>

async function verify(
  { schemes, beforeVerify }: SchemeFacilitatorOptions,
  presented: PresentedPayment,
): Promise<Verified | Refusal> {
  const { payment, terms } = presented
  const mismatch = checkOffer(payment, (name) => schemes.has(name))
  const scheme = schemes.get(payment.requirements.scheme)
  if (mismatch !== undefined) return mismatch
  if (scheme === undefined) return { refused: 'unsupported_scheme' }
  const stop = askWhyNot(beforeVerify, presented)
  if (stop === undefined || (await mayGoOn(stop))) return scheme.verify(presented)
  // One that is open already goes on: its payer may have been charged.
  const open = redeemingOnly(terms ?? termsOf(payment))
  const found = await scheme.verify({ ...presented, terms: open })
  return isRefusal(found)
    ? stopNew(found, stop)
    : { ...found, reserve: async () => stopNew(await found.reserve(), stop) }
}

/** Asks why a payment is not taken now, if anybody is to be asked. Rejects if the hook fails. */
function askWhyNot(
  beforeVerify: PaymentHook | undefined,
  { payment, terms, refundOf }: PresentedPayment,
): Stop | undefined {
  if (terms?.paused === true) return Promise.resolve({ refused: 'merchant_paused' })
  if (beforeVerify === undefined || refundOf !== undefined || !isReadable(payment)) return undefined
  const event = paymentEvent({ payment, terms, payer: undefined })
  return askHook('beforeVerify', beforeVerify, { event, payment, terms })
}

const mayGoOn = (stop: Stop): Promise<boolean> =>
  stop.then(
    (refusal) => refusal === undefined,
    () => false,
  )

/** Says of a payment that is not open already why it is not taken now. Rejects if that is a failure. */
async function stopNew<Found extends Reservation | Refusal>(
  found: Found,
  stop: Stop,
): Promise<Found | Refusal> {
  const isNew = isRefusal(found) && found.refused === 'quote_expired'
  return isNew ? { ...found, ...(await stop) } : found
}

function announceRefusal(
  events: EventBus,
  { payment, terms }: PresentedPayment,
  { refused, payer, transaction, isRepeat, facilitatorMessage }: Refusal,
): void {
  // As the client wrote it: the network may be unknown.
  const { network } = payment.requirements
  const event = {
    ...paymentEvent({ payment, terms, payer }),
    network,
    ...(facilitatorMessage !== undefined && { facilitatorMessage }),
  }
  // Its transaction is out, perhaps by a process that has ended: it is not refused.
  if (refused === 'settlement_pending' && transaction !== undefined)
    events.emit('pending', { transaction, ...event })
  else events.emit('refused', { reason: refused, ...(isRepeat && { isRepeat }), ...event })
}
