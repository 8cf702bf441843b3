import { table } from './markdown.js'

const REQUIREMENTS = [
  [
    '**Binding required**',
    'The business **MUST** take a payment for a checkout only if it was offered for that checkout. An ERC-3009 signature has no room for a checkout, so nobody else can know',
  ],
  [
    '**Binding placement**',
    '`resource.url`, the whole offer and the nonce are in the credential; the first two beside the signature, not under it',
  ],
  [
    '**Binding verified**',
    'The gateway refuses what is not signed for the amount and address of the offer, and offers that are not to the address of the business that asks',
  ],
  [
    '**Single use**',
    'The business **MUST** complete one order for one settlement. The gateway says `"success": true` for an authorization to one request, and again only where that one is repeated under its `Idempotency-Key`, or had no answer',
  ],
  [
    '**Expiry**',
    'An authorization lapses at `validBefore`; it should be valid for `maxTimeoutSeconds`, and no longer',
  ],
  [
    '**Confidentiality**',
    'A signed payment is worth its amount to its payee only, but whoever holds it can have it settled: it travels over TLS, is not logged, and is left out of responses. It is public once it is mined',
  ],
  [
    '**Secrets**',
    'The identify token stays on the servers of the business. Neither platform nor wallet needs it',
  ],
  ['**Data Residency**', 'No personal data is processed. What a payment moves is public on chain'],
] as const

/** What is bound by whom, and what nobody binds. */
export const securityConsiderations = (): string => `
## Security Considerations

**What the signature binds:** payer, payee, value, time window and nonce, for one token on one chain.
Nobody can change any of them, send the money elsewhere, or move it twice. **It does not bind the
checkout:** the words "two books" and the address of the checkout are not signed. A payment of the same
amount to the same business looks the same, whatever it is for.

**What the gateway's ledger binds:** one authorization settles once, for the project that asks first. Of
two requests that present it at once, one is told \`duplicate_settlement\`; whoever comes after a success
is told \`invalid_exact_evm_nonce_already_used\`. The ledger keeps payer, payee, amount and nonce, not
the checkout: settle does not compare \`resource\` with anything.

**What the business binds:** the checkout. It alone knows which offer belongs to which checkout, and how
long it stands by an offer; the comparison in step 3 of [Processing Payments](#processing-payments),
and the one order for one settlement, are its own to make.

${table(['Requirement', 'Description'], REQUIREMENTS)}
`
