/** What shops publish in their UCP profile and checkouts. */
import { z } from 'zod'
import type { handlerDescriptor } from '../../../ucp/handler.js'
import { component } from '../components.js'
import { anyObject } from './fields.js'
import { checkoutRequirement } from './payment.js'

const id = z.string().meta({
  description: 'Name of the handler, equal to the key.',
  examples: ['xyz.vendor.gateway_payment'],
})

const version = z.string().meta({
  description: 'Version of the handler: a date.',
  examples: ['2026-11-21'],
})

const descriptor = component(
  'HandlerDescriptor',
  z
    .object({
      id,
      version,
      spec: z.string().meta({ description: 'URL of the handler’s specification.' }),
      schema: z.string().meta({ description: 'URL of the handler’s JSON schema.' }),
      available_instruments: z
        .array(z.object({ type: z.string().meta({ examples: ['x402'] }) }))
        .meta({ description: 'How can be paid.' }),
      config: anyObject('Empty.'),
    } satisfies Record<keyof ReturnType<typeof handlerDescriptor>, z.ZodType>)
    .meta({ description: 'The payment handler, as a UCP discovery profile names it.' }),
)

/** `GET /api/v2/merchant/payment-profile`. */
export const paymentProfile = component(
  'PaymentProfileResponse',
  z.record(z.string(), z.array(descriptor)).meta({
    description: 'The `payment_handlers` of a discovery profile: one key, the name of the handler.',
  }),
)

const entry = component(
  'CheckoutEntry',
  z
    .object({
      id,
      version,
      config: z
        .object({
          x402Version: z.literal(2).meta({ description: 'Version of x402.' }),
          resource: z
            .object({
              url: z.string().meta({ description: 'URL of what is sold, as it was given.' }),
              description: z.string().optional().meta({ description: 'As it was given.' }),
            })
            .meta({ description: 'What is sold.' }),
          accepts: z.array(checkoutRequirement).meta({ description: 'Ways to pay.' }),
        })
        .meta({ description: 'What goes to the buyer’s wallet.' }),
    })
    .meta({ description: 'The payment handler of one checkout.' }),
)

/** `POST /api/v2/merchant/checkout-prepare`. */
export const checkoutPrepared = component(
  'CheckoutPrepareResponse',
  z.record(z.string(), z.array(entry)).meta({
    description: 'The `payment_handlers` of a checkout: one key, the name of the handler.',
  }),
)

/** A JSON schema, whose members are not described here. */
export const anyJsonSchema = component(
  'JsonSchemaDocument',
  anyObject('A JSON schema (draft 2020-12).'),
)

/** This document. */
export const openApiDocument = component('OpenApiDocument', anyObject('An OpenAPI 3.1 document.'))
