import { EventEmitter } from 'node:events'
import { ConfigError } from '../errors.js'
import { suggestName } from '../protocol/did-you-mean.js'
import type { Reason } from '../protocol/reasons.js'
import { checksumAddress } from '../crypto/checksum-address.js'
import type { LedgerEntry } from '../ledger/index.js'
import type { Payment } from '../protocol/decoded-payment.js'
import type { Network } from '../protocol/networks.js'
import type { MerchantTerms } from './scheme.js'

/** A payment, as events describe it. */
export interface PaymentEvent {
  /** CAIP-2; `refused`, and `pending` of a payment that was refused, repeat what the client wrote. */
  readonly network: string
  /** Address of the token. */
  readonly asset: string
  /** In the token's atomic units, a decimal string: `'10000'` is 0.01 USDC. */
  readonly amount: string
  /** The address that is paid. */
  readonly payTo: string
  /** Address of who pays, where that could be read. */
  readonly payer?: string | undefined
  /** Id of the project that is paid, where one is known. */
  readonly project?: string | undefined
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
  /** A payment was refused; nothing was sent. */
  refused: UnsettledEvent & { readonly reason: Reason }
  /** A transaction was sent to the node. Never emitted with a remote facilitator. */
  submitted: PaymentEvent & { readonly transaction: string }
  /** The merchant was paid. */
  settled: PaymentEvent & { readonly transaction: string }
  /** A transaction was mined, or refused by the node, without paying the merchant. */
  failed: UnsettledEvent & { readonly transaction: string; readonly reason: Reason }
  /**
   * The outcome was not known in time; the gateway keeps checking. `transaction` is empty where only a
   * remote facilitator knows it.
   */
  pending: UnsettledEvent & { readonly transaction: string }
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
  relayerLow: true,
  relayerLoss: true,
} satisfies Record<keyof GatewayEvents, true>)

/**
 * Emits events to listeners. A listener that throws never harms a payment.
 *
 * @internal
 */
export interface EventBus {
  /** Calls the listeners of an event. */
  emit<Name extends keyof GatewayEvents>(name: Name, event: GatewayEvents[Name]): void
  /** Adds a listener. @returns A function that removes it. */
  on<Name extends keyof GatewayEvents>(name: Name, listener: GatewayListener<Name>): () => void
}

/**
 * Creates an event bus.
 *
 * @param onListenerError - Called with what a listener threw.
 *
 * @internal
 */
export function createEventBus(onListenerError: (error: unknown) => void): EventBus {
  const emitter = new EventEmitter()
  return {
    emit(name, event) {
      for (const listener of emitter.listeners(name)) {
        try {
          const returned: unknown = listener(event)
          // An unhandled rejection of an async listener would end the process.
          if (returned instanceof Promise) returned.catch(onListenerError)
        } catch (error) {
          onListenerError(error)
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

/**
 * Describes a payment that was presented.
 *
 * @internal
 */
export function paymentEvent({
  payment: { requirements, network },
  terms,
  payer,
}: {
  readonly payment: Payment
  readonly terms?: MerchantTerms | undefined
  readonly payer: string | undefined
}): PaymentEvent {
  const { asset, amount, payTo } = requirements
  const project = terms?.project
  return { network: network?.caip2 ?? requirements.network, asset, amount, payTo, payer, project }
}

/**
 * Describes a payment that only the ledger knows.
 *
 * @internal
 */
export function entryEvent(network: Network, entry: LedgerEntry): PaymentEvent {
  const { asset, value, payTo, from, project } = entry
  return {
    network: network.caip2,
    asset: checksumAddress(asset),
    amount: value.toString(),
    payTo: checksumAddress(payTo),
    payer: checksumAddress(from),
    project,
  }
}
