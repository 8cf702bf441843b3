import { HANDLER_VERSION, INSTRUMENT_TYPE, type Handler } from './handler.js'

/** Writes the human-readable specification of the handler, in Markdown. */
export function handlerSpecification({ id, docsUrl }: Handler): string {
  return `# ${id}

Version ${HANDLER_VERSION}. Schema: <${docsUrl}/ucp/schema.json>.

## Introduction

This handler lets an agent pay for a checkout with a stablecoin, by the x402 protocol (version 2,
scheme \`exact\`). The payer signs one ERC-3009 authorization; the gateway sends the transaction and
pays its gas.

## Business integration

1. \`GET /api/v2/merchant/payment-profile\` gives the \`payment_handlers\` block of the business
   profile. Publish it in \`/.well-known/ucp\`.
2. \`POST /api/v2/merchant/checkout-prepare\` turns a fiat amount into the block of one checkout:

\`\`\`json
{ "amount": "15.00", "currency": "USD", "resource": { "url": "https://shop.example/checkout/42" } }
\`\`\`

3. When the agent completes the checkout with an instrument of type \`${INSTRUMENT_TYPE}\`, call
   \`POST /api/v2/payment/settle\` with its payment and the entry of \`accepts\` it was made for. The
   order is paid when the answer says \`"success": true\`.

All three need the header \`X-Project-Identify-Token\`, which must never reach a browser or an agent.

## Platform integration

\`config\` of the checkout's handler entry is the x402 envelope: \`x402Version\`, \`resource\` and
\`accepts\`. Choose an entry of \`accepts\` and have the wallet sign \`TransferWithAuthorization\` under
the token's EIP-712 domain: \`extra.name\`, \`extra.version\`, the chain id of \`network\`, and \`asset\`.
Then complete the checkout with the payment:

\`\`\`json
{
  "x402Version": 2,
  "accepted": { "scheme": "exact", "network": "eip155:8453", "amount": "15000000" },
  "payload": { "signature": "0x…", "authorization": { "from": "0x…", "to": "0x…" } }
}
\`\`\`

\`accepted\` is the chosen entry, unchanged. Numbers are canonical decimal strings.

## Errors

| \`errorReason\` | What to do |
|---|---|
| \`insufficient_funds\` | Pay from another account |
| \`invalid_exact_evm_payload_authorization_valid_before\` | Sign again; the authorization lapsed |
| \`invalid_exact_evm_payload_signature\` | Sign under the domain of \`extra\` |
| \`invalid_exact_evm_nonce_already_used\` | This authorization has paid already; do not sign again before asking what for |
| \`settlement_pending\` | Ask again with the same payment; do not sign another |

## Security

An ERC-3009 signature binds payer, payee, value, time window and nonce. It does not bind the order:
that one payment buys one thing is kept by the gateway's ledger. A signature is public once its
transaction is mined, so a settlement is confirmed once only.
`
}
