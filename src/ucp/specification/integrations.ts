import { IDEMPOTENCY_KEY, PROJECT_TOKEN } from '../../protocol/headers.js'
import { table } from './markdown.js'

const ENDPOINTS = [
  ['`GET /api/v2/merchant/payment-profile`', 'The `payment_handlers` block for the profile'],
  ['`POST /api/v2/merchant/checkout-prepare`', 'The `payment_handlers` block for one checkout'],
  ['`POST /api/v2/payment/verify`', 'Whether a payment could be settled; sends nothing'],
  ['`POST /api/v2/payment/settle`', 'Settles a payment on chain'],
  ['`GET /api/v2/merchant/settlements`', 'What became of the payments, for the books'],
] as const

/** What the gateway offers to businesses, and what a wallet has to do. */
export const integrations = (): string => `
## Gateway and Wallet Integration

### Prerequisites

The gateway has accounts with gas on each chain that it settles on. A wallet has nothing to set up.

### Gateway

${table(['Endpoint', 'What it gives'], ENDPOINTS)}

- Requests are JSON and carry the identify token as \`${PROJECT_TOKEN}\`; none of them may
  come from a browser. Errors are problem details (RFC 9457) with a stable \`code\`.
- \`${IDEMPOTENCY_KEY}\`, 1 to 255 visible ASCII characters, makes verify and settle repeatable: the same
  request under the same key has the same answer, and another request under it is \`409\`.
- Settle answers within half a minute. Where the outcome is not known by then, it says
  \`settlement_pending\` and goes on; asked again, it tells the outcome.

### Wallet

- It signs under the domain that the _token_ has on chain. A domain that differs in one letter makes a
  signature that no one can settle; the wallet should know its tokens, and not believe \`extra\` alone.
- It shows the payer the amount in tokens, \`to\` and \`validBefore\`. It cannot show the checkout: that is
  not in what it signs.
- Smart accounts sign by ERC-1271; the account must be deployed.
`
