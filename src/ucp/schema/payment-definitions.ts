import type { NetworkNameStyle } from '../../protocol/networks.js'
import { EXACT, X402_VERSION } from '../../protocol/payment.js'
import { definition, type Definitions, type JsonSchema } from './json-schema.js'

/** Schema of a network's name, by the style of the gateway. */
export const networkSchemas = {
  caip2: {
    type: 'string',
    description: 'Chain, as CAIP-2 writes it: `eip155:8453`.',
    pattern: '^eip155:[1-9][0-9]*$',
  },
  short: {
    type: 'string',
    description: 'Chain: its short name (`base`), or CAIP-2 (`eip155:8453`) where it has none.',
    pattern: '^(eip155:[1-9][0-9]*|[a-z][a-z0-9-]*)$',
  },
} as const satisfies Record<NetworkNameStyle, JsonSchema>

/** Definitions of the x402 v2 documents of the scheme `exact`, as this handler carries them. */
// oxlint-disable-next-line eslint/max-lines-per-function -- one JSON document
export function paymentDefinitions(networkNames: NetworkNameStyle): Definitions {
  return {
    address: {
      type: 'string',
      description: 'An account or contract on an EVM chain.',
      pattern: '^0x[0-9a-fA-F]{40}$',
    },
    uint256: {
      type: 'string',
      description: 'An integer in decimal digits, without sign, point, exponent or leading zeros.',
      pattern: '^(0|[1-9][0-9]{0,77})$',
    },
    resource: {
      title: 'x402 resource',
      type: 'object',
      required: ['url'],
      properties: {
        url: {
          type: 'string',
          minLength: 1,
          description: 'What is paid for: the checkout, byte for byte as the business named it.',
        },
        description: { type: 'string', description: 'What is paid for, in words.' },
      },
    },
    payment_requirement: {
      title: 'x402 PaymentRequirement',
      description: 'One way to pay: one token on one chain.',
      type: 'object',
      required: ['scheme', 'network', 'amount', 'payTo', 'maxTimeoutSeconds', 'asset', 'extra'],
      properties: {
        scheme: { const: EXACT, description: 'The payment scheme.' },
        network: networkSchemas[networkNames],
        amount: {
          type: 'string',
          pattern: '^[1-9][0-9]{0,77}$',
          description: "What is to be paid, in the token's smallest unit.",
        },
        payTo: definition(
          'address',
          'Where the money goes: the settlement address of the business.',
        ),
        maxTimeoutSeconds: {
          type: 'integer',
          minimum: 1,
          description: 'Seconds that the authorization should be valid for.',
        },
        asset: definition('address', "The token's contract."),
        extra: {
          type: 'object',
          description:
            'What the wallet signs under, and whatever else came with the offer: send all of it back.',
          required: ['name', 'version'],
          properties: {
            name: { type: 'string', description: "`name` of the token's EIP-712 domain." },
            version: { type: 'string', description: "`version` of the token's EIP-712 domain." },
          },
        },
      },
    },
    authorization: {
      title: 'ERC-3009 authorization',
      type: 'object',
      required: ['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce'],
      properties: {
        from: definition('address', 'The payer.'),
        to: definition('address', '`payTo` of the chosen entry.'),
        value: definition('uint256', '`amount` of the chosen entry.'),
        validAfter: definition(
          'uint256',
          'Unix time in seconds from which on it is valid; `0` will do.',
        ),
        validBefore: definition('uint256', 'Unix time in seconds at which it lapses.'),
        nonce: {
          type: 'string',
          pattern: '^0x[0-9a-fA-F]{64}$',
          description: '32 random bytes, new for every payment.',
        },
      },
    },
    payment_payload: {
      title: 'x402 PaymentPayload',
      description: 'A signed payment.',
      type: 'object',
      required: ['x402Version', 'accepted', 'payload'],
      properties: {
        x402Version: { const: X402_VERSION, description: 'Version of the protocol.' },
        resource: definition('resource', '`resource` of the config, unchanged.'),
        accepted: definition('payment_requirement', 'The chosen entry of `accepts`, unchanged.'),
        payload: {
          type: 'object',
          description: 'What the scheme asks for.',
          required: ['signature', 'authorization'],
          properties: {
            signature: {
              type: 'string',
              pattern: '^0x([0-9a-fA-F]{2})+$',
              description:
                "The payer's EIP-712 signature; for a smart account, what ERC-1271 takes.",
            },
            authorization: definition('authorization', 'What was signed.'),
          },
        },
        extensions: { type: 'object', description: 'Extensions of x402.' },
      },
    },
  }
}
