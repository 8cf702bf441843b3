/** What requests about webhooks contain. */
import { z } from 'zod'
import { DELIVERY_STATES, type WebhookEvent } from '../ledger/webhooks.js'
import { parseDeliveryCursor } from './webhook-documents.js'

/** Deliveries on a page at most. */
const MAX_LIMIT = 100

/** The forms of ids. The ledger is not asked for any other. */
export const ENDPOINT_ID = /^we_[0-9a-f]{32}$/
export const DELIVERY_ID = /^msg_[0-9a-f]{32}$/

const url = z.string({
  error: ({ input }) => (input === undefined ? 'is missing: where events are sent' : undefined),
})

/** The schemas of the bodies that create and change a webhook of these events. */
export function bodySchemas(known: readonly WebhookEvent[]) {
  const events = z
    .array(z.enum(known))
    .min(1, 'must name at least one event')
    // Without duplicates, in a fixed order.
    .transform((given) => known.filter((event) => given.includes(event)))
  return {
    creation: z.looseObject({ url, events: events.default([...known]) }),
    change: z
      .looseObject({ url: url.optional(), events: events.optional() })
      .refine((change) => change.url !== undefined || change.events !== undefined, {
        error: 'must have url or events',
      }),
  }
}

const NOT_A_LIMIT = `must be an integer from 1 to ${MAX_LIMIT}`

/** The query of a list of deliveries. */
export const deliveriesSchema = z.object({
  cursor: z
    .string()
    .transform((text, context) => {
      const position = parseDeliveryCursor(text)
      if (position !== undefined) return position
      context.addIssue('must be the nextCursor of a page before')
      return z.NEVER
    })
    .optional(),
  limit: z
    .string(NOT_A_LIMIT)
    .regex(/^\d{1,3}$/, NOT_A_LIMIT)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, NOT_A_LIMIT)
    .optional(),
  state: z.enum(DELIVERY_STATES).optional(),
})
