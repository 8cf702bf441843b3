import { exampleInstrument } from '../examples/payment.js'
import {
  documentUrl,
  HANDLER_VERSION,
  INSTRUMENT_TYPE,
  ucpSchema,
  type Handler,
} from '../handler.js'
import { X402_VERSION } from '../../protocol/payment.js'
import { definition, type Definitions } from './json-schema.js'
import { paymentDefinitions } from './payment-definitions.js'

/** Definitions of the instrument, its credential, and their parts. */
export function instrumentDefinitions({ id, networkNames }: Handler): Definitions {
  return {
    x402_instrument: {
      title: 'x402 payment instrument',
      description: 'Pays for a checkout with one signed x402 payment.',
      allOf: [
        { $ref: ucpSchema('shopping/types/payment_instrument.json') },
        {
          type: 'object',
          required: ['id', 'handler_id', 'type', 'credential'],
          properties: {
            id: { type: 'string', minLength: 1, description: "The platform's name for it." },
            handler_id: { const: id, description: '`id` of the handler entry it pays through.' },
            type: { const: INSTRUMENT_TYPE, description: 'The kind of instrument.' },
            credential: definition('x402_credential', 'The payment.'),
          },
        },
      ],
    },
    x402_credential: {
      title: 'x402 credential',
      description: 'A payment and the offer it takes: the body of verify and settle, with a type.',
      allOf: [
        { $ref: ucpSchema('shopping/types/payment_credential.json') },
        {
          type: 'object',
          required: ['type', 'paymentPayload', 'paymentRequirements'],
          properties: {
            type: { const: INSTRUMENT_TYPE, description: 'The kind of credential.' },
            x402Version: { const: X402_VERSION, description: 'Version of the protocol.' },
            paymentPayload: definition('payment_payload', 'The signed payment.'),
            paymentRequirements: definition(
              'payment_requirement',
              'The chosen entry of `accepts`, unchanged.',
            ),
          },
        },
      ],
    },
    ...paymentDefinitions(networkNames),
  }
}

/**
 * Writes the JSON schema (draft 2020-12) of the instruments that pay through the handler.
 *
 * @param version - Selects the copy of that version, which never changes.
 */
export function instrumentSchema(handler: Handler, version?: string): object {
  const definitions = instrumentDefinitions(handler)
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: documentUrl(handler, 'instrument_schema.json', version),
    name: handler.id,
    version: HANDLER_VERSION,
    title: 'x402 payment instrument',
    description: `An instrument that pays through ${handler.id}.`,
    ...definition('x402_instrument'),
    $defs: definitions,
    examples: [exampleInstrument(handler)],
  }
}
