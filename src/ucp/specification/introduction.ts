import { HANDLER_VERSION, type Handler } from '../handler.js'
import { table } from './markdown.js'

const PARTICIPANTS = [
  [
    '**Business**',
    'Offers the handler, quotes each checkout through the gateway, has payments settled by it',
    'Yes: a project on the gateway',
  ],
  ['**Platform**', 'Finds the handler, has the payment signed, completes the checkout', 'No'],
  ['**Wallet**', "Holds the payer's key and signs; sends no transaction and needs no gas", 'No'],
  [
    '**Gateway**',
    'Turns prices into token amounts, verifies payments, settles them on chain and pays the gas',
    'No',
  ],
] as const

/** What the handler is, and who has a part in it. */
export function introduction({ id }: Handler): string {
  return `
# x402 Payment Handler

- **Handler Name:** \`${id}\`
- **Version:** \`${HANDLER_VERSION}\`

## Introduction

This handler lets an agent pay for a checkout in stablecoins, by [x402](https://x402.org) version 2
with the scheme \`exact\`. The checkout says what it costs in each token that the business takes. The
payer's wallet signs one ERC-3009 authorization over exactly that amount. The gateway sends it to the
chain, and the tokens move from the payer to the business in one transaction, without a stop between.

### Key Benefits

- **Nothing to sign up for.** A platform needs no account and no key with the gateway; a payer needs a
  wallet with tokens, and no gas.
- **Exact amounts.** A price in the currency of the shop becomes token units by integer arithmetic,
  rounded up to the next unit.
- **Paid once, or not at all.** An authorization settles once. What is not known yet is called
  pending, never failed, and the same request finds the outcome later.
- **Final.** The money is with the business when the transaction is mined. There is no chargeback; a
  refund is a payment of its own.

### Integration Guide

${table(
  ['Participant', 'Integration Section'],
  [
    ['**Business**', '[Business Integration](#business-integration)'],
    ['**Platform**', '[Platform Integration](#platform-integration)'],
    [
      '**Gateway**, **Wallet**',
      '[Gateway and Wallet Integration](#gateway-and-wallet-integration)',
    ],
  ],
)}

## Participants

${table(['Participant', 'Role', 'Prerequisites'], PARTICIPANTS)}

> **Terminology:** the business is called the _merchant_ in paths of the gateway's API
> (\`/api/v2/merchant/…\`). No field of this handler is named \`merchant_*\`; what stands for the
> business is \`payTo\`, its settlement address.

\`\`\`text
Platform            Wallet            Business           Gateway           Chain
   |                  |                  |                  |                |
   |  create checkout |                  |                  |                |
   |------------------------------------>| checkout-prepare |                |
   |                  |                  |----------------->|                |
   |  checkout with accepts              |<-----------------|                |
   |<------------------------------------|                  |                |
   |  typed data      |                  |                  |                |
   |----------------->|                  |                  |                |
   |  signature       |                  |                  |                |
   |<-----------------|                  |                  |                |
   |  complete checkout                  |                  |                |
   |------------------------------------>|  settle          |                |
   |                  |                  |----------------->|  transaction   |
   |                  |                  |                  |--------------->|
   |                  |                  |  success         |<---------------|
   |  checkout, completed                |<-----------------|                |
   |<------------------------------------|                  |                |
\`\`\`
`
}
