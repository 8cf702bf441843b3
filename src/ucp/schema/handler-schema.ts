import { exampleInstrument, exampleOffer } from '../examples/payment.js'
import {
  checkoutEntry,
  documentUrl,
  HANDLER_VERSION,
  handlerDescriptor,
  INSTRUMENT_TYPE,
  ucpSchema,
  type Handler,
} from '../handler.js'
import { configDefinitions } from './config-definitions.js'
import { instrumentDefinitions } from './instrument-schema.js'
import { definition, type JsonSchema } from './json-schema.js'

/**
 * Writes the JSON schema (draft 2020-12) of the handler.
 *
 * UCP composes its own schemas with `$defs[<handler id>]`. The document as a whole accepts the
 * handler's declaration in any of its three places.
 *
 * @param version - Selects the copy of that version, which never changes.
 */
export function handlerSchema(handler: Handler, version?: string): object {
  const { id } = handler
  const place = (name: string): JsonSchema => definition(`${id}/${name}`)
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: documentUrl(handler, 'schema.json', version),
    name: id,
    version: HANDLER_VERSION,
    title: 'x402 payment handler',
    description: `Declarations of ${id} in profiles and checkouts, and the instruments that pay through it.`,
    anyOf: [place('business_schema'), place('platform_schema'), place('response_schema')],
    $defs: {
      [id]: {
        payment_instrument: {
          title: 'Instruments of x402',
          description: 'Every kind of instrument that this handler takes.',
          oneOf: [definition('x402_instrument')],
          examples: [exampleInstrument(handler)],
        },
        // Some shops look it up by this name and this URL.
        instrument: { $ref: documentUrl(handler, 'instrument_schema.json', version) },
        business_schema: {
          ...declaration(handler, 'business'),
          title: 'x402 (business)',
          description: 'The entry in the profile of a business.',
          examples: [handlerDescriptor(handler)],
        },
        platform_schema: {
          ...declaration(handler, 'platform'),
          title: 'x402 (platform)',
          description: 'The entry in the profile of a platform.',
          examples: [handlerDescriptor(handler)],
        },
        response_schema: {
          ...declaration(handler, 'response'),
          title: 'x402 (checkout)',
          description: 'The entry in a checkout: what the wallet needs in order to pay.',
          examples: [checkoutEntry(id, exampleOffer(handler))],
        },
      },
      ...configDefinitions,
      ...instrumentDefinitions(handler),
    },
  }
}

/** UCP's own declaration of a handler, with the members that this one adds. */
function declaration({ id }: Handler, place: 'business' | 'platform' | 'response'): JsonSchema {
  return {
    allOf: [
      { $ref: ucpSchema(`payment_handler.json#/$defs/${place}_schema`) },
      {
        type: 'object',
        required: ['id', 'version', ...(place === 'response' ? ['config'] : [])],
        properties: {
          // A platform chooses the ids of its own entries.
          id: place === 'platform' ? { type: 'string', minLength: 1 } : { const: id },
          version: { type: 'string', format: 'date' },
          available_instruments: {
            type: 'array',
            items: {
              type: 'object',
              required: ['type'],
              properties: { type: { const: INSTRUMENT_TYPE } },
            },
          },
          config: definition(`${place}_config`),
        },
      },
    ],
  }
}
