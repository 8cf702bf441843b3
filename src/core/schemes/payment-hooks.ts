/** Hooks of the app that may veto a payment. */
import type { Address } from '../../shared/protocol/payment.js'
import type { RecordedPaymentEvent } from './events.js'

/** A payment that a hook may veto, as events describe it. Addresses have their checksum. */
export type ProposedPayment = RecordedPaymentEvent & {
  /** Address of who pays. In `beforeVerify`, the signature is not checked yet. */
  readonly payer: Address
  /** IP address of the buyer's request (`req.ip`), at paid routes and payment links. */
  readonly client?: string | undefined
}

/**
 * Returns nothing to let a payment go on, or `{ reason }` to refuse it: at most 300 characters for the buyer, who gets
 * `payment_declined`. A hook that throws, takes longer than 5 s or returns anything else is answered with a 503
 * (`hook_failed`). Either way nothing is charged, and the same payment may be presented again: the hook is asked anew.
 *
 * A hook must not verify or settle payments itself.
 */
export type PaymentHook = (
  payment: ProposedPayment,
) =>
  | void
  | undefined
  | { readonly reason: string }
  | Promise<void | undefined | { readonly reason: string }>

/**
 * Hooks that may veto a payment, whichever way it comes: paid routes, payment links, the API, UCP checkouts. Never
 * refunds, and never a payment that a transaction was sent for.
 *
 * @example
 * ```ts
 * import { createGateway, fromEnvironment, type PaymentHooks } from 'express-x402-gateway'
 *
 * const sanctioned = new Set(['0x8589427373D6D84E98730D7795D8f6f8731FDA16'])
 * const hooks: PaymentHooks = {
 *   beforeVerify: ({ payer }) =>
 *     sanctioned.has(payer) ? { reason: 'We cannot sell to this account.' } : undefined,
 * }
 * const open = () => createGateway({ ...fromEnvironment(), ...hooks })
 * ```
 */
export interface PaymentHooks {
  /** Runs before a payment is verified, so before the handler of a route. @defaultValue none */
  readonly beforeVerify?: PaymentHook | undefined
  /**
   * Runs right before a verified payment is sent, with its charge: after the handler of a route, whose response does
   * not leave after a veto; with `paymentFlow: 'upfront'` before it. @defaultValue none
   */
  readonly beforeSettle?: PaymentHook | undefined
}
