/** The results of a remote facilitator (x402 v2 §7), which are not trusted. */
import { z } from 'zod'
import { X402_VERSION, type PaymentRequirements } from '../../../shared/protocol/payment.js'
import { isUnsent } from '../../../shared/protocol/reason-words.js'
import type { Reason } from '../../../shared/protocol/reasons.js'
import { oneLine } from '../../../shared/protocol/visible-text.js'

/** Longest reason, network or scheme that is passed on. */
const MAX_NAME = 128

/** Words of printable ASCII: they are written into our headers and logs. */
const NAME = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/

const name = z.string().max(MAX_NAME).regex(NAME)

/** The official facilitator's reasons for transactions that failed. */
const FAILED: { readonly [reason: string]: Reason } = {
  invalid_upto_evm_transaction_failed: 'invalid_transaction_state',
}

/** Refusals of other facilitators before they send anything: the policy of Coinbase's, and Circle's 409. */
const UNSENT_ELSEWHERE: ReadonlySet<unknown> = new Set([
  'kyt_risk_detected',
  'self_send_not_allowed',
  'amount_too_low',
  'request_blocked_by_location',
  'permit2_disabled',
  'preflight_validation_failed',
  'invalid_bazaar_extension',
  'credential_bound_elsewhere',
])

/** Whether a facilitator elsewhere that does not settle a payment for this reason has sent nothing for it. */
export const isUnsentElsewhere = (reason: Reason): boolean =>
  isUnsent(reason) || UNSENT_ELSEWHERE.has(reason)

/** The result in an answer. Such a refusal may be an error: its reason is `errorType` at Coinbase, `code` at Circle. */
export function resultOf(document: unknown): unknown {
  const { errorType, code = errorType } = Object(document) as { readonly [name: string]: unknown }
  if (!UNSENT_ELSEWHERE.has(code)) return document
  const refusal = { isValid: false, invalidReason: code, success: false, errorReason: code }
  return { ...refusal, ...Object(document) }
}

/** A reason of another facilitator; `unfit` in place of one that must not be passed on. */
const reasonOr = (unfit: string) =>
  z
    .string()
    .min(1)
    .transform((text) => (name.safeParse(text).success ? (FAILED[text] ?? text) : unfit) as Reason)

const transaction = z.string().regex(/^0x[0-9a-fA-F]{64}$/)

/** Optional in x402 v2; some facilitators write `null` instead of leaving a member out. */
const optional = z.string().nullish()

/** Longest text of a facilitator that is logged. */
const MAX_WORDS = 300

/** Words of a facilitator, for the log and the events. */
export function ownWords(said: unknown): string | undefined {
  return typeof said === 'string' ? oneLine(said, MAX_WORDS) || undefined : undefined
}

export const verifySchema = z.union([
  z.object({ isValid: z.literal(true), payer: optional }),
  z.object({
    isValid: z.literal(false),
    invalidReason: reasonOr('unexpected_verify_error'),
    invalidMessage: z.unknown().optional().transform(ownWords),
    payer: optional,
  }),
])

const notSettled = z.object({
  success: z.literal(false),
  errorReason: reasonOr('unexpected_settle_error'),
  errorMessage: z.unknown().optional().transform(ownWords),
  transaction: z.unknown().optional(),
  settledBy: z.unknown().optional(),
  network: optional,
  payer: optional,
})

const settled = z.object({
  success: z.literal(true),
  transaction,
  amount: z
    .string()
    .regex(/^\d{1,78}$/)
    .optional()
    .catch(undefined),
  network: optional,
  payer: optional,
})

const settleSchemas = {
  charged: z.union([settled, notSettled]),
  uncharged: z.union([
    settled.extend({ transaction: z.union([transaction, z.literal('')]) }),
    notSettled,
  ]),
}

/** Results of `POST /settle`. A success names its transaction, unless there was nothing to take. */
export const settleSchema = ({ amount }: Pick<PaymentRequirements, 'amount'>) =>
  amount === '0' ? settleSchemas.uncharged : settleSchemas.charged

export const supportedSchema = z.object({
  // Kinds of other x402 versions are dropped.
  kinds: z
    .array(
      z.object({
        x402Version: z.int(),
        scheme: name,
        network: name,
        extra: z.record(z.string(), z.unknown()).optional().catch(undefined),
      }),
    )
    .transform((kinds) =>
      kinds.flatMap(({ x402Version, extra, ...kind }) =>
        x402Version === X402_VERSION
          ? [{ x402Version: X402_VERSION, ...kind, ...(extra && { extra }) }]
          : [],
      ),
    ),
  extensions: z.array(name).default([]),
  signers: z.record(name, z.array(name)).default({}),
})

/** A transaction hash; `undefined` for anything else. */
export function hashOrNone(value: unknown): string | undefined {
  const hash = transaction.safeParse(value)
  return hash.success ? hash.data : undefined
}
