/** The extension `payment-identifier` of x402 v2: a client's id for a payment. */
import { z } from 'zod'
import { parseDocument, type Parsed } from './document.js'
import type { PaymentPayload } from './payment.js'
import { fromPhp } from './php-object.js'

/** Key of the extension. */
export const PAYMENT_IDENTIFIER = 'payment-identifier'

/**
 * Limits of the extension. A payment with its id gets the response again, so the id is a secret; its
 * minimum length keeps it from being guessed.
 */
const MIN_LENGTH = 16
const MAX_LENGTH = 128
const PATTERN = '^[a-zA-Z0-9_-]+$'

/** `extensions` of a 402: an id is optional. */
export const paymentIdentifierExtensions = {
  [PAYMENT_IDENTIFIER]: {
    info: { required: false },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        required: { type: 'boolean' },
        id: { type: 'string', minLength: MIN_LENGTH, maxLength: MAX_LENGTH, pattern: PATTERN },
      },
      required: ['required'],
    },
  },
} as const

const paymentId = z
  .string()
  .refine(
    (id) => id.length >= MIN_LENGTH && id.length <= MAX_LENGTH && new RegExp(PATTERN).test(id),
    { error: `must be ${MIN_LENGTH} to ${MAX_LENGTH} letters, digits, hyphens and underscores` },
  )

const extension = z.looseObject({
  info: fromPhp(z.looseObject({ id: paymentId.nullish() }).nullish()).optional(),
})

const extensionSchema = z.looseObject({
  extensions: z
    .looseObject({ [PAYMENT_IDENTIFIER]: fromPhp(extension.nullish()).optional() })
    .nullish(),
})

export function readPaymentId({ extensions }: PaymentPayload): Parsed<string | undefined> {
  const parsed = parseDocument(extensionSchema, { extensions })
  if (!parsed.ok) return parsed
  return { ok: true, value: parsed.value.extensions?.[PAYMENT_IDENTIFIER]?.info?.id ?? undefined }
}

export function withoutPaymentId(payload: PaymentPayload): PaymentPayload {
  const { [PAYMENT_IDENTIFIER]: id, ...extensions } = payload.extensions ?? {}
  return id === undefined ? payload : { ...payload, extensions }
}
