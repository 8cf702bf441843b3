/** The part of the OpenAPI document about webhooks: what a receiver is sent. */
import type { z } from 'zod'
import { operatorWebhooks, projectWebhooks } from '../documents/webhook-event.js'
import { referenceTo } from './components.js'
import type { Tag } from '../serve/fixed-parts.js'

const HEADER = { in: 'header', required: true, schema: { type: 'string' } } as const

const PARAMETERS = [
  { name: 'webhook-id', ...HEADER, description: 'The same at every attempt.' },
  { name: 'webhook-timestamp', ...HEADER, description: 'When it was sent: Unix time in seconds.' },
  { name: 'webhook-signature', ...HEADER, description: 'Signature of id, timestamp and body.' },
]

/** Describes the webhooks of those who have some. */
export function describeWebhooks(tags: ReadonlySet<Tag>): Readonly<Record<string, object>> {
  return {
    ...(tags.has('Webhooks') && describeAll('Webhooks', projectWebhooks)),
    ...(tags.has('Admin: webhooks') && describeAll('Admin: webhooks', operatorWebhooks)),
  }
}

function describeAll(
  tag: Tag,
  bodies: Readonly<Record<string, z.ZodType>>,
): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Object.entries(bodies).map(([type, body]) => [type, { post: describe(type, tag, body) }]),
  )
}

function describe(type: string, tag: Tag, body: z.ZodType): object {
  const id = type.replaceAll(/[._](\w)/g, (_all, first: string) => first.toUpperCase())
  return {
    operationId: `on${id.charAt(0).toUpperCase()}${id.slice(1)}`,
    tags: [tag],
    summary: type,
    description:
      'Sent to each webhook that wants this event, signed as Standard Webhooks describes, until the receiver takes it.',
    security: [],
    parameters: PARAMETERS,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: referenceTo(body) } },
    },
    responses: { '2XX': { description: 'Taken. Any other status is tried again.' } },
  }
}
