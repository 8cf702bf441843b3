import { IDEMPOTENCY_KEY, PROJECT_TOKEN } from '../../protocol/headers.js'
import {
  exampleBusinessProfile,
  exampleCheckout,
  examplePrepareRequest,
  examplePrepareResponse,
} from '../examples/checkout.js'
import { exampleRefusal, exampleSettlement, exampleSubmission } from '../examples/payment.js'
import { documentUrl, INSTRUMENT_TYPE, type Handler } from '../handler.js'
import { configDefinitions } from '../schema/config-definitions.js'
import { paymentDefinitions } from '../schema/payment-definitions.js'
import { fieldTable, json, stack, table } from './markdown.js'

/** What a business does: get a project, declare the handler, quote checkouts, settle payments. */
export function businessIntegration(handler: Handler): string {
  return stack(prerequisites(), configuration(handler), processing(handler))
}

const prerequisites = (): string => `
## Business Integration

### Prerequisites

Before advertising this handler, a business **MUST**:

1. Have a project on the gateway, with a settlement address and the tokens it takes.
2. Keep the project's identify token on its servers. It **MUST NOT** reach a browser, an agent or a
   public repository.

**Prerequisites Output:**

${table(
  ['Field', 'Description'],
  [
    ['identify token', `Sent as \`${PROJECT_TOKEN}\` with each request to the gateway; a secret`],
    [
      '`identity.access_token`',
      'The settlement address, `payTo` in each offer: who the business is to its payers. It is public; the gateway settles to no other address of this project',
    ],
  ],
)}
`

const configuration = (handler: Handler): string => `
### Handler Configuration

The business advertises the handler in \`payment_handlers\` of its profile at \`/.well-known/ucp\`. The
block to put there is what the gateway answers to \`GET /api/v2/merchant/payment-profile\`; its \`id\` is
its key.

#### Handler Schema

**Schema URL:** \`${documentUrl(handler, 'schema.json')}\`

${table(
  ['Config Variant', 'Context', 'Purpose'],
  [
    ['`business_config`', 'Business discovery', configDefinitions.business_config.description],
    ['`platform_config`', 'Platform discovery', configDefinitions.platform_config.description],
    ['`response_config`', 'Checkout responses', configDefinitions.response_config.description],
  ],
)}

#### Business Config Fields

None: \`config\` is \`{}\`. What is payable depends on the checkout, and comes with it. There is no
\`environment\` either: a test network is a network of its own in \`accepts\`.

#### Response Config Fields

${fieldTable(configDefinitions.response_config, paymentDefinitions(handler.networkNames))}

#### Example Handler Declaration

${json(exampleBusinessProfile(handler))}
`

const processing = (handler: Handler): string => `
### Processing Payments

**While the checkout is open**, the business has each new total quoted. It sends the total in **major
units** (\`"15.00"\`, not \`1500\`) to \`POST /api/v2/merchant/checkout-prepare\` and, as \`resource.url\`,
an address that belongs to this checkout alone.

${json(examplePrepareRequest)}

The answer is the \`payment_handlers\` block of this checkout:

${json(examplePrepareResponse(handler))}

The business stores it and returns it with the checkout, unchanged. When the total changes, it asks
again and forgets the offer before.

${json(exampleCheckout(handler))}

**When the platform completes the checkout**, the business **MUST**:

1. **Validate Handler:** confirm that the \`type\` of the instrument and that of its credential are
   \`${INSTRUMENT_TYPE}\`, and that its \`handler_id\` is \`${handler.id}\`.
2. **Ensure Idempotency:** a checkout that is completed already is answered as such, without another
   settlement.
3. **Verify the binding:** confirm that \`credential.paymentRequirements\` equals, member for member, an
   entry of \`accepts\` stored for _this_ checkout, that \`paymentPayload.accepted\` does too, and that
   \`paymentPayload.resource.url\` is this checkout's, where it is there. See
   [Security Considerations](#security-considerations).
4. **Settle:** \`POST /api/v2/payment/settle\` with the two parts of the credential, and with an
   \`${IDEMPOTENCY_KEY}\` made from the checkout and the nonce of the authorization.
   \`POST /api/v2/payment/verify\` takes the same body, and tells whether the payment could be settled.
5. **Return Response:** complete the order if, and only if, the answer says \`"success": true\`. Answer
   all else as [Error Mapping](#error-mapping) says. Leave the credential out of responses.

The request:

${json(exampleSubmission(handler))}

The answer, once the transaction is mined:

${json(exampleSettlement(handler))}

A payment that is refused is answered with \`200\` as well; nothing was sent, and nothing is charged:

${json(exampleRefusal(handler))}
`
