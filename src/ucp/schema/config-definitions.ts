import { X402_VERSION } from '../../protocol/payment.js'
import { definition, type Definitions } from './json-schema.js'

/** Definitions of `config`, one for each place where the handler is declared. */
export const configDefinitions = {
  business_config: {
    title: 'Business config',
    description: 'Empty: what is payable, and to whom, is said for each checkout.',
    type: 'object',
    additionalProperties: false,
  },
  platform_config: {
    title: 'Platform config',
    description: 'Empty: what is needed in order to pay comes with each checkout.',
    type: 'object',
    additionalProperties: false,
  },
  response_config: {
    title: 'Response config',
    description: 'The x402 envelope that goes to the wallet.',
    type: 'object',
    required: ['x402Version', 'resource', 'accepts'],
    properties: {
      x402Version: { const: X402_VERSION, description: 'Version of the protocol.' },
      resource: definition('resource', 'What is paid for.'),
      accepts: {
        type: 'array',
        minItems: 1,
        description: 'Ways to pay, best first; the platform takes one of them.',
        items: definition('payment_requirement'),
      },
    },
  },
} as const satisfies Definitions
