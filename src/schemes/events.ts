import { EventEmitter } from 'node:events'
import type { Reason } from '../protocol/reasons.js'

/** What is told of a payment. Amounts are token units; networks CAIP-2. */
export interface PaymentEvent {
  readonly network: string
  readonly asset: string
  readonly amount: string
  readonly payTo: string
  readonly payer?: string | undefined
  /** Id of the project that is paid, where one is known. */
  readonly project?: string | undefined
}

/** Every event of a gateway, with what its listeners are given. */
export interface GatewayEvents {
  /** A payment was found good. */
  verified: PaymentEvent
  /** A payment was refused; nothing was sent. */
  refused: PaymentEvent & { readonly reason: Reason }
  /** A transaction was handed to the node. Never told with a remote facilitator. */
  submitted: PaymentEvent & { readonly transaction: string }
  /** The merchant was paid. */
  settled: PaymentEvent & { readonly transaction: string }
  /** A transaction was mined, or refused by the node, without paying the merchant. */
  failed: PaymentEvent & { readonly transaction: string; readonly reason: Reason }
  /**
   * The outcome was not known in time; the gateway goes on asking. `transaction` is empty where only a
   * remote facilitator could name it.
   */
  pending: PaymentEvent & { readonly transaction: string }
  /** A relayer's balance, in wei, is good for few settlements more. */
  relayerLow: { readonly network: string; readonly relayer: string; readonly balance: bigint }
  /**
   * Failed transactions of all payers have taken more than 5,000,000 gas within the last hour. Where those
   * of accounts with code alone have, unknown code is refused meanwhile: `payer_temporarily_refused`.
   */
  relayerLoss: { readonly network: string; readonly gas: bigint }
}

/** Listens to one kind of event. */
export type GatewayListener<Name extends keyof GatewayEvents> = (event: GatewayEvents[Name]) => void

/** Tells listeners what happens. A listener that throws never harms a payment. */
export interface EventBus {
  emit<Name extends keyof GatewayEvents>(name: Name, event: GatewayEvents[Name]): void
  /** @returns A function that ends the listening. */
  on<Name extends keyof GatewayEvents>(name: Name, listener: GatewayListener<Name>): () => void
}

/** @param onListenerError - Told of what a listener threw. */
export function createEventBus(onListenerError: (error: unknown) => void): EventBus {
  const emitter = new EventEmitter()
  return {
    emit(name, event) {
      for (const listener of emitter.listeners(name)) {
        try {
          const returned: unknown = listener(event)
          // An async listener's rejection, left alone, would end the process.
          if (returned instanceof Promise) returned.catch(onListenerError)
        } catch (error) {
          onListenerError(error)
        }
      }
    },
    on(name, listener) {
      emitter.on(name, listener)
      return () => void emitter.off(name, listener)
    },
  }
}
