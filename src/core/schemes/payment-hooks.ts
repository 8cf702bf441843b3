/** Hooks of the app that may veto a payment. */
import { isIP } from 'node:net'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { HookError } from '../../shared/errors.js'
import type { ReadablePayment } from '../../shared/protocol/decoded-payment.js'
import { isObject } from '../../shared/protocol/document.js'
import type { Address } from '../../shared/protocol/payment.js'
import { isHexAddress } from '../../shared/protocol/primitives.js'
import { oneLine } from '../../shared/protocol/visible-text.js'
import type { RecordedPaymentEvent } from './events.js'
import { startDeadline } from './evm/settle/deadline.js'
import type { MerchantTerms, Refusal } from './scheme.js'

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

/** How long a hook may take (ms). */
const HOOK_TIMEOUT_MS = 5000

const MAX_REASON = 300

interface Proposed {
  /** With what is charged, once that is known. */
  readonly event: RecordedPaymentEvent
  readonly payment: ReadablePayment
  readonly terms?: MerchantTerms | undefined
}

/** Asks a hook. What it answers later is not used. @throws {@link HookError} */
export async function askHook(
  name: keyof PaymentHooks,
  hook: PaymentHook,
  proposed: Proposed,
): Promise<Refusal | undefined> {
  const failed = (how: string, cause?: unknown): HookError =>
    new HookError('hook_failed', `The hook ${name} ${how}.`, { cause })
  const deadline = startDeadline(HOOK_TIMEOUT_MS)
  const asked = async (): Promise<unknown> => hook(describe(proposed))
  const answer: unknown = await Promise.race([asked(), deadline.late])
    .catch((error: unknown) => {
      throw failed('threw', error)
    })
    .finally(deadline.end)
  if (answer === undefined) return undefined
  if (answer === 'late') throw failed(`did not answer within ${HOOK_TIMEOUT_MS / 1000} s`)
  const reason = isObject(answer) ? answer['reason'] : undefined
  if (typeof reason !== 'string') throw failed('returned neither nothing nor { reason }')
  const message = oneLine(reason, MAX_REASON) || undefined
  return {
    refused: 'payment_declined',
    message,
    payer: checksumAddress(proposed.payment.facts.payer),
  }
}

function describe({ event, payment: { facts }, terms }: Proposed): ProposedPayment {
  const { client = '' } = terms?.purchase ?? {}
  return {
    ...event,
    payer: checksumAddress(facts.payer),
    payTo: checksumAddress(facts.payTo),
    // The caller of the API may have written anything.
    asset: isHexAddress(event.asset) ? checksumAddress(event.asset) : event.asset,
    // A checkout of UCP names its buyer by a key.
    client: isIP(client) === 0 ? undefined : client,
  }
}
