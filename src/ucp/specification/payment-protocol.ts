import {
  exampleBusinessProfile,
  exampleCheckout,
  exampleCompleted,
  exampleCompletion,
} from '../examples/checkout.js'
import { examplePayload, exampleRequirement, exampleTypedData } from '../examples/payment.js'
import type { Handler } from '../handler.js'
import { json, stack } from './markdown.js'

/** How a platform pays, step by step. */
export function paymentProtocol(handler: Handler): string {
  return stack(discoverAndChoose(handler), signAndComplete(handler))
}

const discoverAndChoose = (handler: Handler): string => `
### Payment Protocol

#### Step 1: Discover Handler

The platform finds \`${handler.id}\` in \`payment_handlers\` of the business's profile, at
\`/.well-known/ucp\`.

${json(exampleBusinessProfile(handler))}

#### Step 2: Create the Checkout

It creates the checkout as UCP has it. \`config\` of the handler's entry in the response is an x402
envelope, resolved for this checkout: what is paid for, and what it costs in each token. An updated
checkout may carry another one, and only the latest counts.

${json(exampleCheckout(handler))}

#### Step 3: Choose a Way to Pay

It takes one entry of \`accepts\`: a token on a chain of which its wallet holds at least \`amount\`, in the
token's smallest unit. The entry is kept whole, \`extra\` included: it goes back unchanged.

${json(exampleRequirement(handler))}
`

const signAndComplete = (handler: Handler): string => `
#### Step 4: Have the Payment Signed

The wallet signs \`TransferWithAuthorization\` (ERC-3009) as EIP-712 typed data. The domain is the
token's: \`name\` and \`version\` from \`extra\`, the chain id of \`network\`, and \`asset\`. \`to\` is \`payTo\`,
\`value\` is \`amount\`, \`nonce\` is 32 random bytes that were never used before. \`validBefore\` is now plus
\`maxTimeoutSeconds\`, in Unix seconds; \`validAfter\` may be \`0\`. \`eth_signTypedData_v4\` takes:

${json(exampleTypedData(handler))}

#### Step 5: Build the Payment

The signature, what it was given for, and the chosen entry make an x402 PaymentPayload. This one is
real: its signature is that of \`from\` over the typed data above. Numbers are strings of decimal digits.

${json(examplePayload(handler))}

#### Step 6: Complete Checkout

The payment becomes the credential of an instrument, beside the entry that it was made for:
\`POST /checkout-sessions/{id}/complete\` with

${json(exampleCompletion(handler))}

The business settles it through the gateway and answers with the checkout:

${json(exampleCompleted(handler))}

\`complete_in_progress\` means that the transaction is out and its outcome is not known: the platform asks
for the checkout again, and **MUST NOT** sign another payment meanwhile. An error message of severity
\`recoverable\` means that nothing was charged: see [Error Mapping](#error-mapping).
`
