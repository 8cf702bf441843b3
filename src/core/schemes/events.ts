import { EventEmitter } from 'node:events'
import { ConfigError } from '../../shared/errors.js'
import { suggestName } from '../../shared/protocol/did-you-mean.js'
import type { Reason } from '../../shared/protocol/reasons.js'
import { chargedPrice } from '../../ledger/charged-rate.js'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { amountOf, recordId, type LedgerEntry } from '../../ledger/index.js'
import { detailsOf } from '../../ledger/ledger-entry.js'
import type { PaymentDetails } from '../../ledger/payment-details.js'
import { findKnownAsset } from '../../shared/money/assets.js'
import { sameHex } from '../../shared/protocol/hex.js'
import type { ReadablePayment, Payment } from '../../shared/protocol/decoded-payment.js'
import type { Network } from '../../shared/protocol/networks.js'
import type { MerchantTerms } from './scheme.js'

/** A payment, as events describe it. */
export interface PaymentEvent {
  /** `exact` or `upto`; `refused` repeats what the client wrote. */
  readonly scheme: string
  /** CAIP-2; `refused`, and `pending` of a payment that was refused, repeat what the client wrote. */
  readonly network: string
  /** Address of the token. */
  readonly asset: string
  /**
   * In the token's atomic units, a decimal string: `'10000'` is 0.01 USDC. Of `upto` the maximum, until it is known
   * what is charged.
   */
  readonly amount: string
  /** The address that is paid. */
  readonly payTo: string
  /** Address of who pays, where that could be read. */
  readonly payer?: string | undefined
  /** Id of the project that is paid, where one is known. */
  readonly project?: string | undefined
  /** Id of the payment, as in settlements and log lines; absent where its authorization is unreadable. */
  readonly payment?: string | undefined
  /** The merchant's own name for the payment: an order number. */
  readonly reference?: string | undefined
  /** URL of what is sold. */
  readonly resource?: string | undefined
  /** The Express route that sells it: `/report/:id`. */
  readonly route?: string | undefined
  /** The price as it was asked: `$0.25`. Of the scheme `upto`, what is charged, as soon as that is known. */
  readonly price?: string | undefined
  /** Of the scheme `upto`, the most that could be charged, in atomic units, as soon as it is known what is. */
  readonly maximum?: string | undefined
  /** Symbol of the token, if it is known. */
  readonly symbol?: string | undefined
  /** Digits after the point of one token: 6 for USDC. */
  readonly decimals?: number | undefined
}

/**
 * A payment that has a settlement.
 *
 * @example
 * ```ts
 * import type { RecordedPaymentEvent } from 'express-x402-gateway'
 *
 * const lineOf = ({ payment, reference, price }: RecordedPaymentEvent): string =>
 *   [payment, reference, price].join(' ')
 * ```
 */
export interface RecordedPaymentEvent extends PaymentEvent {
  /** Id of the payment, as in settlements and log lines. */
  readonly payment: string
}

/**
 * A refund: `payer` is the merchant, and `payTo` the buyer.
 *
 * @example
 * ```ts
 * import type { Gateway, RefundEvent } from 'express-x402-gateway'
 *
 * function bookRefunds(gateway: Gateway, book: (refund: RefundEvent) => void): void {
 *   gateway.on('refundSettled', book)
 * }
 * ```
 */
export interface RefundEvent extends RecordedPaymentEvent {
  /** Id of the settlement that is paid back. */
  readonly payment: string
  /** Id of the refund. */
  readonly refund: string
  /** Hash of the transaction. */
  readonly transaction: string
}

/** A payment that was not settled, or is not known to be. */
export interface UnsettledEvent extends PaymentEvent {
  /** The remote facilitator's own words about it: one line, at most 300 characters. */
  readonly facilitatorMessage?: string | undefined
}

/**
 * Every event of a gateway, with what its listeners receive. `transaction` is the transaction's hash.
 *
 * @example
 * ```ts
 * import type { Gateway, GatewayEvents } from 'express-x402-gateway'
 *
 * function watch(gateway: Gateway, alert: (event: GatewayEvents['failed']) => void): void {
 *   gateway.on('failed', alert)
 *   gateway.on('relayerLow', ({ relayer, balance }) => console.warn(relayer, balance))
 * }
 * ```
 */
export interface GatewayEvents {
  /** A payment was verified. */
  verified: PaymentEvent
  /**
   * A payment was refused; nothing was sent. `isRepeat`: it was settled before, for the same purchase, and was
   * presented again.
   */
  refused: UnsettledEvent & { readonly reason: Reason; readonly isRepeat?: boolean | undefined }
  /** A transaction was sent to the node. Never emitted with a remote facilitator. */
  submitted: RecordedPaymentEvent & { readonly transaction: string }
  /** The merchant was paid. `transaction` is empty where nothing was charged. */
  settled: RecordedPaymentEvent & { readonly transaction: string }
  /** A transaction was mined, or refused by the node, without paying the merchant. */
  failed: UnsettledEvent &
    RecordedPaymentEvent & { readonly transaction: string; readonly reason: Reason }
  /**
   * The outcome was not known in time; the gateway keeps checking. `transaction` is empty where only a
   * remote facilitator knows it.
   */
  pending: UnsettledEvent & { readonly transaction: string }
  /** A buyer was paid back. */
  refundSettled: RefundEvent
  /** The transaction of a refund was mined, and did not pay the buyer. */
  refundFailed: RefundEvent & { readonly reason: Reason }
  /** The outcome of a refund was not known in time; the gateway keeps checking. */
  refundPending: RefundEvent
  /**
   * A relayer's balance pays for few more settlements: `relayer` is its address, `balance` in wei,
   * `network` CAIP-2.
   */
  relayerLow: { readonly network: string; readonly relayer: string; readonly balance: bigint }
  /**
   * Failed transactions of all payers took more than 5,000,000 gas within the last hour, or could. If
   * accounts with code did, codes that have not earned that much by paying are refused meanwhile:
   * `payer_temporarily_refused`.
   */
  relayerLoss: { readonly network: string; readonly gas: bigint }
}

/**
 * Listens to one kind of event. May be `async`; what it returns is not used.
 *
 * @example
 * ```ts
 * import type { GatewayListener } from 'express-x402-gateway'
 *
 * const book: GatewayListener<'settled'> = async ({ transaction, amount }) => {
 *   await fetch('https://books.example', { method: 'POST', body: `${transaction} ${amount}` })
 * }
 * ```
 */
export type GatewayListener<Name extends keyof GatewayEvents> = (
  event: GatewayEvents[Name],
) => unknown

/** The names of all events. */
const EVENT_NAMES = Object.keys({
  verified: true,
  refused: true,
  submitted: true,
  settled: true,
  failed: true,
  pending: true,
  refundSettled: true,
  refundFailed: true,
  refundPending: true,
  relayerLow: true,
  relayerLoss: true,
} satisfies Record<keyof GatewayEvents, true>)

/** Emits events to listeners. A listener that throws never harms a payment. @internal */
export interface EventBus {
  /** Calls the listeners of an event. */
  emit<Name extends keyof GatewayEvents>(name: Name, event: GatewayEvents[Name]): void
  /** Adds a listener. @returns A function that removes it. */
  on<Name extends keyof GatewayEvents>(name: Name, listener: GatewayListener<Name>): () => void
}

/**
 * Creates an event bus.
 *
 * @param onListenerError - Called with what a listener threw, and the event.
 *
 * @internal
 */
export function createEventBus(
  onListenerError: (error: unknown, name: keyof GatewayEvents) => void,
): EventBus {
  const emitter = new EventEmitter()
  return {
    emit(name, event) {
      const report = (error: unknown): void => onListenerError(error, name)
      for (const listener of emitter.listeners(name)) {
        try {
          const returned: unknown = listener(event)
          // An unhandled rejection of an async listener would end the process.
          if (returned instanceof Promise) returned.catch(report)
        } catch (error) {
          report(error)
        }
      }
    },
    on(name, listener) {
      checkListener(name, listener)
      emitter.on(name, listener)
      return () => void emitter.off(name, listener)
    },
  }
}

/** @throws {@link ConfigError} for what JavaScript lets pass and TypeScript does not. */
function checkListener(name: unknown, listener: unknown): void {
  if (typeof name !== 'string' || !EVENT_NAMES.includes(name)) {
    const message = `is no event; ${suggestName(String(name), EVENT_NAMES)}`
    throw new ConfigError(`on('${String(name)}')`, message, 'unknown_event')
  }
  if (typeof listener !== 'function')
    throw new ConfigError(`on('${name}')`, 'needs a function as its listener', 'invalid_type')
}

/** A payment that was presented. */
interface PresentedEvent<Presented extends Payment> {
  readonly payment: Presented
  readonly terms?: MerchantTerms | undefined
  readonly payer: string | undefined
}

/** Describes a payment that was presented. @internal */
export function paymentEvent(presented: PresentedEvent<ReadablePayment>): RecordedPaymentEvent
export function paymentEvent(presented: PresentedEvent<Payment>): PaymentEvent
export function paymentEvent({ payment, terms, payer }: PresentedEvent<Payment>): PaymentEvent {
  const { requirements, network, key } = payment
  const { scheme, asset, amount, payTo } = requirements
  const taken = terms?.accepts.find(
    (one) => one.network.caip2 === network?.caip2 && sameHex(one.address, asset),
  )
  const known = network && findKnownAsset(network, asset)
  return {
    scheme,
    network: network?.caip2 ?? requirements.network,
    asset,
    amount,
    payTo,
    payer,
    project: terms?.project,
    payment: key && recordId(key),
    ...soldMembers(detailsOf(payment, terms), taken?.symbol ? taken : known),
  }
}

/** The members that say what was sold. */
function soldMembers(
  { reference, resource, route, askedPrice: price, decimals }: PaymentDetails,
  token: Token | undefined,
) {
  const { symbol } = token ?? {}
  return { reference, resource, route, price, symbol, decimals: decimals ?? token?.decimals }
}

/** A token, as far as it is known. */
type Token = Pick<MerchantTerms['accepts'][number], 'symbol' | 'decimals'>

/**
 * Describes a payment, or a refund, that the ledger knows.
 *
 * @param token - Its token, if this gateway settles it.
 * @internal
 */
export function entryEvent(
  network: Network,
  entry: LedgerEntry,
  token?: Token,
): RecordedPaymentEvent {
  const { asset, payTo, from, project, details = {} } = entry
  return {
    scheme: entry.scheme,
    network: network.caip2,
    asset: checksumAddress(asset),
    amount: amountOf(entry).toString(),
    payTo: checksumAddress(payTo),
    payer: checksumAddress(from),
    project,
    payment: entry.refundOf ?? recordId(entry),
    ...soldMembers(details, token ?? findKnownAsset(network, asset)),
    ...chargedMembers(entry),
  }
}

/** The members of a payment of which it is known what is charged of its maximum. */
export function chargedMembers(entry: LedgerEntry): Pick<PaymentEvent, 'price' | 'maximum'> {
  if (entry.charged === undefined) return {}
  return { price: chargedPrice(entry), maximum: entry.value.toString() }
}
