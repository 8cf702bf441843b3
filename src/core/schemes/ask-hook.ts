import { isIP } from 'node:net'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { HookError } from '../../shared/errors.js'
import type { ReadablePayment } from '../../shared/protocol/decoded-payment.js'
import { isObject } from '../../shared/protocol/document.js'
import { isHexAddress } from '../../shared/protocol/primitives.js'
import { oneLine } from '../../shared/protocol/visible-text.js'
import type { RecordedPaymentEvent } from './events.js'
import { startDeadline } from './evm/settle/deadline.js'
import type { PaymentHook, PaymentHooks, ProposedPayment } from './payment-hooks.js'
import type { MerchantTerms, Refusal } from './scheme.js'

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
  const payer = checksumAddress(proposed.payment.facts.payer)
  return { refused: 'payment_declined', message, payer }
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
