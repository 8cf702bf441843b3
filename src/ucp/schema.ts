import type { NetworkNameStyle } from '../protocol/networks.js'
import { INSTRUMENT_TYPE, HANDLER_VERSION, type Handler } from './handler.js'

const NETWORK: Readonly<Record<NetworkNameStyle, object>> = {
  caip2: {
    type: 'string',
    description: 'CAIP-2 network, e.g. eip155:8453.',
    pattern: '^eip155:[1-9][0-9]*$',
  },
  short: {
    type: 'string',
    description: 'Short name of a network, e.g. base; CAIP-2 where it has none.',
    pattern: '^(eip155:[1-9][0-9]*|[a-z][a-z0-9-]*)$',
  },
}

/**
 * Writes the JSON schema (draft 2020-12) of the handler's checkout entries.
 *
 * `config` is the x402 v2 envelope that goes to the wallet.
 */
export function handlerSchema({ id, docsUrl }: Handler, networkNames: NetworkNameStyle): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${docsUrl}/ucp/schema.json`,
    name: id,
    version: HANDLER_VERSION,
    title: 'x402 payment handler',
    description: `An entry of payment_handlers["${id}"] in a checkout response.`,
    type: 'object',
    required: ['id', 'version', 'config'],
    properties: {
      id: { const: id },
      version: { type: 'string', format: 'date', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
      available_instruments: {
        type: 'array',
        items: {
          type: 'object',
          required: ['type'],
          properties: { type: { const: INSTRUMENT_TYPE } },
        },
      },
      config: { $ref: '#/$defs/config' },
    },
    $defs: {
      config: {
        type: 'object',
        required: ['x402Version', 'resource', 'accepts'],
        properties: {
          x402Version: { const: 2 },
          resource: {
            type: 'object',
            required: ['url'],
            properties: {
              url: { type: 'string', minLength: 1 },
              description: { type: 'string' },
            },
          },
          accepts: { type: 'array', minItems: 1, items: { $ref: '#/$defs/payment_requirement' } },
        },
      },
      payment_requirement: {
        type: 'object',
        required: ['scheme', 'network', 'amount', 'payTo', 'maxTimeoutSeconds', 'asset', 'extra'],
        properties: {
          scheme: { const: 'exact' },
          network: NETWORK[networkNames],
          amount: {
            type: 'string',
            description: "Token amount in the token's smallest unit.",
            pattern: '^[1-9][0-9]*$',
          },
          payTo: { $ref: '#/$defs/address' },
          asset: { $ref: '#/$defs/address' },
          maxTimeoutSeconds: { type: 'integer', minimum: 1 },
          extra: {
            type: 'object',
            description: 'EIP-712 domain of the token.',
            required: ['name', 'version'],
            properties: { name: { type: 'string' }, version: { type: 'string' } },
          },
        },
      },
      address: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
    },
  }
}
