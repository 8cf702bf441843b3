/** Schemas of what shops publish in their UCP profile and checkouts. */
import { z } from 'zod'
import { HANDLER_VERSION } from '../checkouts/ucp/handler.js'
import { component, document } from './component.js'
import { anyObject, list, object, text } from './fields.js'
import { checkoutRequirement } from './payment.js'

const id = text('Name of the handler, equal to the key.', 'xyz.vendor.gateway_payment')

const version = text('Version of the handler: a date.', HANDLER_VERSION)

const descriptor = document(
  'HandlerDescriptor',
  'The payment handler, as a UCP discovery profile names it.',
  {
    id,
    version,
    spec: text('URL of the handler’s specification.'),
    schema: text('URL of the handler’s JSON schema.'),
    available_instruments: list(
      'How can be paid.',
      z.object({ type: z.string().meta({ examples: ['x402'] }) }),
    ),
    config: anyObject('Empty.'),
  },
)

export const paymentProfile = component(
  'PaymentProfileResponse',
  z.record(z.string(), z.array(descriptor)).meta({
    description: 'The `payment_handlers` of a discovery profile: one key, the name of the handler.',
  }),
)

/** What goes to the buyer's wallet; shops' plugins that need no handler around it get it alone. */
export const checkoutConfig = document('CheckoutConfig', 'What goes to the buyer’s wallet.', {
  x402Version: z.literal(2).meta({ description: 'Version of x402.' }),
  resource: object('What is sold.', {
    url: text('URL of what is sold, as it was given.'),
    description: text('As it was given.').optional(),
  }),
  accepts: list('Ways to pay.', checkoutRequirement),
  extensions: anyObject(
    'Extensions of x402 that a payment may use: with `payment-identifier`, its payer may ask again for the answer.',
  ),
})

const entry = document('CheckoutEntry', 'The payment handler of one checkout.', {
  id,
  version,
  config: checkoutConfig,
})

export const checkoutPrepared = component(
  'CheckoutPrepareResponse',
  z.record(z.string(), z.array(entry)).meta({
    description: 'The `payment_handlers` of a checkout: one key, the name of the handler.',
  }),
)

const acpHandlerMembers = {
  id,
  name: text('Name of the handler, equal to its id.', 'xyz.vendor.gateway_payment'),
  version,
  spec: text('URL of the handler’s specification.'),
  requires_delegate_payment: z.literal(false).meta({
    description: 'The buyer’s wallet pays by itself.',
  }),
  requires_pci_compliance: z.literal(false).meta({ description: 'There are no cards.' }),
  psp: text('Who settles the payment.', 'x402'),
  config_schema: text('URL of the JSON schema of `config`.'),
  instrument_schemas: list('URLs of the JSON schemas of its instruments.', z.string()),
}

export const acpHandlers = component(
  'AcpHandlers',
  z
    .array(
      document('AcpHandler', 'The payment handler, as an ACP profile names it.', {
        ...acpHandlerMembers,
        config: anyObject('Empty.'),
      }),
    )
    .meta({ description: 'The payment handlers of an ACP profile: one.' }),
)

export const acpCheckout = document('AcpCheckoutHandler', 'The payment handler of one checkout.', {
  ...acpHandlerMembers,
  config: checkoutConfig,
})

/** A JSON schema, whose members are not described here. */
export const anyJsonSchema = component(
  'JsonSchemaDocument',
  anyObject('A JSON schema (draft 2020-12).'),
)

export const openApiDocument = component('OpenApiDocument', anyObject('An OpenAPI 3.1 document.'))
