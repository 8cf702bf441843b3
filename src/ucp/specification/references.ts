import { documentUrl, HANDLER_VERSION, UCP_VERSION, ucpSchema, type Handler } from '../handler.js'

/** Where all of this is written down. */
export function references(handler: Handler): string {
  const spec = documentUrl(handler, 'gateway.md')
  const schema = documentUrl(handler, 'schema.json')
  const instrument = documentUrl(handler, 'instrument_schema.json')
  return `
## References

- **Handler Spec:** <${spec}>; this version for good: <${documentUrl(handler, 'gateway.md', HANDLER_VERSION)}>
- **Handler Schema:** <${schema}>; this version for good: <${documentUrl(handler, 'schema.json', HANDLER_VERSION)}>
- **Instrument Schema:** <${instrument}>; this version for good:
  <${documentUrl(handler, 'instrument_schema.json', HANDLER_VERSION)}>
- **UCP:** composed with the schemas of ${UCP_VERSION}, <${ucpSchema('payment_handler.json')}>; the
  documents fit those of 2026-01-23 and of the draft after ${UCP_VERSION} as well
- **x402 version 2:** <https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md>
- **ERC-3009:** <https://eips.ethereum.org/EIPS/eip-3009>; **EIP-712:**
  <https://eips.ethereum.org/EIPS/eip-712>; **CAIP-2:** <https://chainagnostic.org/CAIPs/caip-2>
`
}
