/** The extension `eip2612GasSponsoring` of x402 v2: the seller sends the payer's signed approval to Permit2. */
import type { PaymentRequirements } from './payment.js'
import { isPermit2 } from './same-offer.js'

/** Key of the extension. */
export const PERMIT_SPONSORING = 'eip2612GasSponsoring'

const text = { type: 'string' }
const hex = { type: 'string', pattern: '^0x[a-fA-F0-9]+$' }
const address = { type: 'string', pattern: '^0x[a-fA-F0-9]{40}$' }
const digits = { type: 'string', pattern: '^[0-9]+$' }

const properties = {
  from: address,
  asset: address,
  spender: address,
  amount: digits,
  nonce: digits,
  deadline: digits,
  signature: hex,
  version: text,
}

const advertised = {
  [PERMIT_SPONSORING]: {
    info: {
      description: 'A signed approval to Permit2 (EIP-2612) is settled with the payment.',
      version: '1',
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties,
      required: Object.keys(properties),
    },
  },
}

/** `extensions` of offers, one of which names the domain of its token's approvals: clients sign in it. */
export function sponsoringExtensions(accepts: readonly PaymentRequirements[]): object {
  const isSponsored = (entry: PaymentRequirements): boolean =>
    isPermit2(entry) && entry.extra?.['name'] !== undefined
  return accepts.some(isSponsored) ? advertised : {}
}
