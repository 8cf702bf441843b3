import { IDEMPOTENCY_KEY } from '../../protocol/headers.js'
import { reasons } from '../../protocol/reasons.js'
import { exampleCheckout, exampleMessages } from '../examples/checkout.js'
import type { Handler } from '../handler.js'
import { json, stack, table, wrap } from './markdown.js'
import { REASON_GUIDE, type Remedy } from './reason-guide.js'

interface Guidance {
  readonly title: string
  /** What the business answers to the platform. */
  readonly answer: string
  /** What helps. */
  readonly advice: string
}

const FAILED =
  'the checkout as it was, with the error message `payment_failed`, severity `recoverable`'

const GUIDANCE: Readonly<Record<Remedy, Guidance>> = {
  wait: {
    title: 'Not Known Yet',
    answer: '`complete_in_progress`, without an error message.',
    advice: `The business settles the same payment again, under the same \`${IDEMPOTENCY_KEY}\`, every few seconds, until it is told something else. Nobody signs anything.`,
  },
  look_up: {
    title: 'Look It Up',
    answer: `\`completed\`, where the business finds that this very payment paid for this checkout; else ${FAILED}.`,
    advice:
      'The business looks the transaction up in its orders, and in `GET /api/v2/merchant/settlements`. What paid for another order pays for nothing more.',
  },
  sign_again: {
    title: 'Sign Again',
    answer: `${FAILED}.`,
    advice:
      'This request charged nothing. The platform fetches the checkout, takes an entry of its latest `accepts`, and has a new authorization signed, with a new nonce.',
  },
  pay_otherwise: {
    title: 'Pay Otherwise',
    answer: `${FAILED}.`,
    advice:
      'This request charged nothing. The platform pays from another account, in another token, on another chain, or through another handler.',
  },
  mend_request: {
    title: 'Mend the Integration',
    answer: `${FAILED}; the reason is for the log of the business, not for the buyer.`,
    advice:
      'This request charged nothing. What was presented as the offer is none of this project: the business compares it with what checkout-prepare answered.',
  },
}

const STATUSES = [
  ['`400`, `413`, `415`', '`errors` names what is wrong with the request', 'Mend the request'],
  [
    '`400` `unsupported_currency`',
    'The business takes no token for this currency',
    'Leave the handler out of this checkout',
  ],
  ['`401`', 'The identify token is missing or wrong', 'Mend the configuration'],
  ['`404`', 'The project has no merchant yet', 'Mend the configuration'],
  ['`409`', `The \`${IDEMPOTENCY_KEY}\` was used with another body`, 'Take a key for each payment'],
  ['`429`', 'There were too many requests', 'Ask again after `Retry-After`'],
  [
    '`502` `transaction_failed`',
    'The transaction failed; `errorReason` is in the body',
    'As `errorReason` says',
  ],
  ['`502`, `503`', 'A chain, a rate or the ledger is away', 'Ask again: same body, same key'],
  ['`500`, no answer', 'The outcome is not known', 'Ask again: same body, same key'],
] as const

/** What each failure means, and what the business and the platform make of it. */
export const errorMapping = (handler: Handler): string =>
  stack(
    `
## Error Mapping

Settle and verify answer a payment that they refuse with \`200\` and a reason: \`errorReason\` of settle,
\`invalidReason\` of verify. Each belongs to one of these groups.
`,
    ...Object.keys(GUIDANCE).map((remedy) => group(remedy as Remedy)),
    `
### Errors of HTTP

Everything else is an error of HTTP, with problem details.

${table(['Status', 'Meaning', 'What to do'], STATUSES)}

### The Checkout of a Refused Payment

UCP 2026-01-23 lists \`payment_declined\` where later versions list \`payment_failed\`; codes are free in
all of them. \`content\` is for the buyer, in words of the business.

${json({ ...exampleCheckout(handler), messages: exampleMessages })}
`,
  )

function group(remedy: Remedy): string {
  const { title, answer, advice } = GUIDANCE[remedy]
  const rows = reasons
    .filter((reason) => REASON_GUIDE[reason][0] === remedy)
    .map((reason) => [`\`${reason}\``, REASON_GUIDE[reason][1]])
  return stack(
    `### ${title}`,
    wrap(`**Response:** ${answer}`),
    wrap(`**Next:** ${advice}`),
    table(['Reason', 'Meaning'], rows),
  )
}
