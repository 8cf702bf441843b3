/** Whose webhooks there are: a merchant's, or the operator's own. */
import { linkTo } from '../state/route.js'

/** Names of events, and what each means. */
type Events = ReadonlyArray<readonly [name: string, meaning: string]>

const MERCHANT_EVENTS: Events = [
  ['payment.settled', 'The merchant was paid.'],
  ['payment.failed', 'The transaction was mined, and did not pay the merchant.'],
  ['payment.pending', 'The outcome is not known yet.'],
  ['payment.corrected', 'What was told before has changed.'],
  ['refund.settled', 'The buyer was paid back.'],
  ['refund.failed', 'The refund did not reach the buyer.'],
]

const OPERATOR_EVENTS: Events = [
  ['relayer.low', 'A relayer has gas money for few more settlements.'],
]

/** Someone who has webhooks. */
export interface WebhookOwner {
  /** Where they are in the API. */
  readonly path: string
  /** Where they are listed in the console, and what that view is called. */
  readonly href: string
  readonly label: string
  readonly linkOf: (id: string) => string
  readonly events: Events
  /** The text above the list, and the one of an empty list. */
  readonly note: string
  readonly invitation: string
}

const OWN = {
  href: linkTo(['webhooks']),
  label: 'Webhooks',
  linkOf: (id: string) => linkTo(['webhooks', id]),
}

const OF_PAYMENTS = {
  events: MERCHANT_EVENTS,
  note: 'URLs that are told of payments, signed by Standard Webhooks.',
  invitation: 'Add a URL to be told when a payment is settled, fails or is paid back.',
}

/** The owner of the webhooks that the signed-in user sees. */
export function ownWebhooks(role: 'admin' | 'merchant'): WebhookOwner {
  return role === 'merchant'
    ? { ...OWN, ...OF_PAYMENTS, path: 'merchant/webhooks' }
    : {
        ...OWN,
        path: 'admin/webhooks',
        events: OPERATOR_EVENTS,
        note: 'URLs that are told what concerns the gateway itself, signed by Standard Webhooks. Those of payments are at each merchant.',
        invitation: 'Add a URL to be told when a relayer runs out of gas money.',
      }
}

/** A merchant, for an operator. */
export function webhooksOf(project: string): WebhookOwner {
  return {
    ...OF_PAYMENTS,
    path: `admin/projects/${encodeURIComponent(project)}/webhooks`,
    href: linkTo(['merchants', project]),
    label: project,
    linkOf: (id) => linkTo(['merchants', project, 'webhooks', id]),
  }
}
