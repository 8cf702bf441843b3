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

/**
 * A payment that a hook may veto, as events describe it. Addresses have their checksum.
 *
 * @example
 * ```ts
 * import type { ProposedPayment } from 'express-x402-gateway'
 *
 * const isLarge = ({ symbol, amount }: ProposedPayment): boolean =>
 *   symbol !== 'USDC' || BigInt(amount) > 1_000_000_000n
 * ```
 */
export interface ProposedPayment extends RecordedPaymentEvent {
  /** Address of who pays. `beforeVerify` has it before its signature is checked. */
  readonly payer: Address
  /** IP address of the buyer's request (`req.ip`), at paid routes and payment links. */
  readonly client?: string | undefined
}

/**
 * Decides whether a payment goes on: returns nothing to let it, or `{ reason }`, in words for the buyer (at most 300
 * characters), to refuse it with `payment_declined`.
 *
 * It has 5 seconds. If it throws, is late or returns anything else, the buyer gets a 503 (`hook_failed`), and nothing is
 * charged. The same payment may be presented again, and the hook is asked again. It must not verify or settle payments.
 *
 * @example
 * ```ts
 * import type { PaymentHook } from 'express-x402-gateway'
 *
 * const sanctioned = new Set(['0x8589427373D6D84E98730D7795D8f6f8731FDA16'])
 * const screen: PaymentHook = ({ payer }) =>
 *   sanctioned.has(payer) ? { reason: 'We cannot sell to this account.' } : undefined
 * ```
 */
export type PaymentHook = (payment: ProposedPayment) => Vetoed | Promise<Vetoed>

// oxlint-disable-next-line typescript/no-invalid-void-type -- an async function that returns nothing
type Vetoed = { readonly reason: string } | undefined | void

/**
 * Hooks that may veto a payment, by whatever way it comes: paid routes, payment links, the API, UCP checkouts. Refunds,
 * and payments that a transaction was sent for, are not vetoed.
 *
 * @example
 * ```ts
 * import { createGateway, fromEnvironment, type PaymentHooks } from 'express-x402-gateway'
 *
 * const open = (hooks: PaymentHooks) => createGateway({ ...fromEnvironment(), ...hooks })
 * ```
 */
export interface PaymentHooks {
  /** Runs before a payment is verified, so before the handler of a route. @defaultValue none */
  readonly beforeVerify?: PaymentHook | undefined
  /**
   * Runs once a payment is good and its charge is known, right before it is sent: after the handler of a route, whose
   * response does not leave after a veto, or before it with `paymentFlow: 'upfront'`. @defaultValue none
   */
  readonly beforeSettle?: PaymentHook | undefined
}

/** How long a hook may take (ms). */
const HOOK_TIMEOUT_MS = 5000

/** Longest reason that is passed on. */
const MAX_REASON = 300

/** Describes a payment to a hook. @param event - With what is charged, once that is known. */
export function proposedPayment(
  event: RecordedPaymentEvent,
  {
    payment,
    terms,
  }: { readonly payment: ReadablePayment; readonly terms?: MerchantTerms | undefined },
): ProposedPayment {
  const { facts, requirements } = payment
  const { asset } = requirements
  const { client = '' } = terms?.purchase ?? {}
  return {
    ...event,
    payer: checksumAddress(facts.payer),
    payTo: checksumAddress(facts.payTo),
    // The caller of the API may have written anything, which is refused later.
    asset: isHexAddress(asset) ? checksumAddress(asset) : asset,
    // A checkout of UCP names its buyer by a key.
    client: isIP(client) === 0 ? undefined : client,
  }
}

/** Asks a hook. What it answers late is not used. @throws {@link HookError} */
export async function askHook(
  name: keyof PaymentHooks,
  hook: PaymentHook,
  payment: ProposedPayment,
): Promise<Refusal | undefined> {
  const failed = (how: string, cause?: unknown): HookError =>
    new HookError('hook_failed', `The hook ${name} ${how}.`, { cause })
  const deadline = startDeadline(HOOK_TIMEOUT_MS)
  const asked = async (): Promise<Vetoed> => hook(payment)
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
  return { refused: 'payment_declined', message, payer: payment.payer }
}
