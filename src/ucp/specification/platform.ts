import { INSTRUMENT_TYPE, type Handler } from '../handler.js'
import { examplePlatformProfile } from '../examples/checkout.js'
import { json } from './markdown.js'

/** What a platform needs, and how it declares the handler. */
export function platformIntegration(handler: Handler): string {
  return `
## Platform Integration

### Prerequisites

None with the gateway: a platform neither registers with it nor calls it. It needs a wallet that holds
one of the offered tokens and signs typed data (EIP-712), or one of the official x402 clients with a
key. The spend limits of those clients apply; a checkout may be above them.

**Prerequisites Output:** none.

### Handler Configuration

A platform advertises the handler in \`payment_handlers\` of its own profile, with instruments of type
\`${INSTRUMENT_TYPE}\`.

#### Platform Config Fields

None: \`config\` is \`{}\`.

#### Example Platform Handler Declaration

${json(examplePlatformProfile(handler))}
`
}
