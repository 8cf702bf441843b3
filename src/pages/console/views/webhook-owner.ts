/** Owners of webhooks: a merchant, or the operator. */
import type { Webhook } from '../api/documents.js'
import { linkTo } from '../state/route.js'

type Events = ReadonlyArray<readonly [name: string, meaning: string]>

type EventName = Webhook['events'][number]

const MERCHANT_EVENTS = {
  'payment.settled': 'The merchant was paid.',
  'payment.failed': 'The transaction was mined but did not pay the merchant.',
  'payment.pending': 'The outcome is not known yet.',
  'payment.corrected': 'An earlier event was corrected.',
  'refund.settled': 'The buyer was refunded.',
  'refund.failed': 'The refund did not reach the buyer.',
  'refund.pending': 'The outcome of a refund is not known yet.',
  'refund.corrected': 'An earlier event of a refund was corrected.',
  'checkout.paid': 'A payment link was paid.',
  'checkout.expired': 'A payment link expired unpaid.',
} as const satisfies Partial<Record<EventName, string>>

/** All others: the compiler misses none. */
const OPERATOR_EVENTS: Readonly<Record<Exclude<EventName, keyof typeof MERCHANT_EVENTS>, string>> =
  {
    'relayer.low': 'A relayer has gas money for few more settlements.',
    'network.failing': 'A node does not answer, lags behind, or is on the wrong chain.',
    'payments.pending': 'A payment has been pending for ten minutes.',
    'payments.undelivered': 'A payment has been paid for an hour, not delivered.',
    'webhook.failing': 'A merchant’s webhook has failed for a day.',
    'errors.high': 'Many payments fail for reasons that are not the buyers’.',
    'merchant.pay_to_changed': 'A merchant is, or will be, paid at another address.',
  }

export interface WebhookOwner {
  /** Path in the API. */
  readonly path: string
  /** Link to their view in the console, and its name. */
  readonly href: string
  readonly label: string
  readonly linkOf: (id: string) => string
  readonly events: Events
  /** Heading of the list, which may be below one that says what it is. */
  readonly heading: string
  /** Text above the list, and of an empty list. */
  readonly note: string
  readonly invitation: string
}

const OWN = {
  href: linkTo(['webhooks']),
  label: 'Webhooks',
  linkOf: (id: string) => linkTo(['webhooks', id]),
  heading: 'Endpoints',
}

const OF_PAYMENTS = {
  events: Object.entries(MERCHANT_EVENTS),
  note: 'Payment events are posted to these URLs, signed by Standard Webhooks. So is every change of the address that is paid.',
  invitation: 'Add a URL to receive an event when a payment is settled, fails or is refunded.',
}

/** The owner of the webhooks that the signed-in user sees. */
export function ownWebhooks(role: 'admin' | 'merchant'): WebhookOwner {
  return role === 'merchant'
    ? { ...OWN, ...OF_PAYMENTS, path: 'merchant/webhooks' }
    : {
        ...OWN,
        path: 'admin/webhooks',
        events: Object.entries(OPERATOR_EVENTS),
        note: 'Alerts about the gateway itself. Payment webhooks are set up per merchant.',
        invitation: 'Add a URL to receive an alert when the gateway needs you.',
      }
}

/** A merchant, for an operator. */
export function webhooksOf(project: string): WebhookOwner {
  return {
    ...OF_PAYMENTS,
    path: `admin/projects/${encodeURIComponent(project)}/webhooks`,
    href: linkTo(['merchants', project]),
    heading: 'Webhooks',
    label: project,
    linkOf: (id) => linkTo(['merchants', project, 'webhooks', id]),
  }
}
