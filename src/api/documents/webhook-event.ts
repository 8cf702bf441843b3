/** The bodies of webhooks. */
import { z } from 'zod'
import { CHECKOUT_EVENTS } from '../../ledger/checkouts.js'
import {
  OPERATOR_EVENTS,
  PAY_TO_CHANGED,
  TEST_EVENT,
  WEBHOOK_EVENTS,
  type OperatorEvent,
} from '../../ledger/webhooks.js'
import { document } from './component.js'
import { address, anyObject, count, integer, network, object, text, time } from './fields.js'
import { checkout } from './payment-link.js'
import { refundMembers, settlementMembers } from './settlement.js'

/** Members that each payment and refund has besides those of its settlement. */
const about = {
  payment: text('Id of the settlement: of a refund, of the one that is paid back.'),
  price: text('The price as it was asked.', '$0.25').optional(),
  version: integer('Number of this event among those of the payment or refund.', 1),
}

/** A body. @param types - The events that have it. */
const bodyOf = (types: readonly string[], data: z.ZodType) => ({
  type: z.enum(types).meta({ description: 'The event.' }),
  timestamp: time('When it happened.'),
  data,
})

const payments = WEBHOOK_EVENTS.filter((type) => type.startsWith('payment.'))
const refunds = WEBHOOK_EVENTS.filter((type) => type.startsWith('refund.'))

const paymentEvent = document(
  'PaymentWebhook',
  'A webhook about a payment.',
  bodyOf(
    payments,
    object('The payment, as it was after the event.', { ...settlementMembers, ...about }),
  ),
)

const refundEvent = document(
  'RefundWebhook',
  'A webhook about a refund.',
  bodyOf(refunds, object('The refund, as it was after the event.', { ...refundMembers, ...about })),
)

const checkoutEvent = document(
  'CheckoutWebhook',
  'A webhook about a payment link.',
  bodyOf(CHECKOUT_EVENTS, checkout),
)

const payToChanged = document(
  'PayToChangedWebhook',
  'A webhook about another address that is, or will be, paid. Every webhook of the project gets it.',
  bodyOf(
    [PAY_TO_CHANGED],
    object('The address.', {
      project: text('Id of the project.'),
      payTo: address('The address that is paid from `effectiveAt` on.'),
      previousPayTo: address('The address that it replaces.'),
      effectiveAt: time('From when on it is paid.'),
    }),
  ),
)

const oldestPayment = (description: string) =>
  object(description, {
    payment: text('Id of its settlement.'),
    network,
    project: text('Id of the project.').optional(),
    pendingSeconds: integer('How long ago it was presented.', 600),
  })

const ALERTS: Readonly<
  Record<Exclude<OperatorEvent, typeof PAY_TO_CHANGED>, readonly [subject: string, z.ZodType]>
> = {
  'relayer.low': [
    'a relayer that runs out of gas money',
    object('The relayer.', {
      network,
      address: address('Its account.'),
      balance: text('Wei that it has.', '1000000000000000'),
      settlements: count('Settlements that it pays for.'),
    }),
  ],
  'network.failing': [
    'a node that does not answer, lags behind, or is on the wrong chain',
    object('What was found.', {
      network,
      code: text('What is wrong, as in findings.', 'chain_unreachable'),
      message: text('The same in words.'),
      block: integer('Number of the latest block.').optional(),
      blockAgeSeconds: integer('Its age.').optional(),
    }),
  ],
  'payments.pending': [
    'a payment that has been pending for long',
    oldestPayment('The payment that has been pending longest.'),
  ],
  'payments.undelivered': [
    'a payment that is paid, not delivered',
    oldestPayment('The oldest of them: refund it, or list its price.'),
  ],
  'webhook.failing': [
    'a webhook to which nothing could be delivered for a day',
    object('The webhook.', {
      webhook: text('Its id.'),
      project: text('Id of its project; absent for the operator’s own.').optional(),
      since: time('When the oldest event was written that it did not get.'),
    }),
  ],
  'errors.high': [
    'many payments that fail, and not because of the buyers',
    object('Payments of the last minutes at one gateway.', {
      errors: count('Payments that a failure prevented.'),
      settled: count('Payments that were settled.'),
      minutes: integer('How many minutes.', 10),
    }),
  ],
}

const testEvent = document(
  'TestWebhook',
  'A webhook that was asked for to try an endpoint.',
  bodyOf([TEST_EVENT], anyObject('Says that it is a test.')),
)

export const projectWebhooks: Readonly<Record<string, z.ZodType>> = Object.fromEntries([
  ...payments.map((type) => [type, paymentEvent] as const),
  ...refunds.map((type) => [type, refundEvent] as const),
  [PAY_TO_CHANGED, payToChanged],
  ...CHECKOUT_EVENTS.map((type) => [type, checkoutEvent] as const),
  [TEST_EVENT, testEvent],
])

export const operatorWebhooks: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  OPERATOR_EVENTS.flatMap((type) => {
    if (type === PAY_TO_CHANGED) return []
    const id = `${type.replaceAll(/(^|[._])(\w)/g, (_all, _dot, first: string) => first.toUpperCase())}Webhook`
    const [subject, data] = ALERTS[type]
    return [[type, document(id, `A webhook about ${subject}.`, bodyOf([type], data))] as const]
  }),
)
