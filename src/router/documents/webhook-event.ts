/** The bodies of webhooks. */
import { z } from 'zod'
import { CHECKOUT_EVENTS } from '../../ledger/checkouts.js'
import { OPERATOR_EVENTS, TEST_EVENT, WEBHOOK_EVENTS } from '../../ledger/webhooks.js'
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
const bodyOf = (types: readonly [string, ...string[]], data: z.ZodType) => ({
  type: z.enum(types).meta({ description: 'The event.' }),
  timestamp: time('When it happened.'),
  data,
})

const payments = WEBHOOK_EVENTS.filter((type) => type.startsWith('payment.'))
const refunds = WEBHOOK_EVENTS.filter((type) => type.startsWith('refund.'))
const [firstPayment, ...otherPayments] = payments
const [firstRefund, ...otherRefunds] = refunds

const paymentEvent = document(
  'PaymentWebhook',
  'A webhook about a payment.',
  bodyOf(
    [firstPayment!, ...otherPayments],
    object('The payment, as it was after the event.', { ...settlementMembers, ...about }),
  ),
)

const refundEvent = document(
  'RefundWebhook',
  'A webhook about a refund.',
  bodyOf(
    [firstRefund!, ...otherRefunds],
    object('The refund, as it was after the event.', { ...refundMembers, ...about }),
  ),
)

const checkoutEvent = document(
  'CheckoutWebhook',
  'A webhook about a payment link.',
  bodyOf([...CHECKOUT_EVENTS], checkout),
)

const relayerLow = document(
  'RelayerLowWebhook',
  'A webhook about a relayer that runs out of gas money.',
  bodyOf(
    ['relayer.low'],
    object('The relayer.', {
      network,
      address: address('Its account.'),
      balance: text('Wei that it has.', '1000000000000000'),
      settlements: count('Settlements that it pays for.'),
    }),
  ),
)

const testEvent = document(
  'TestWebhook',
  'A webhook that was asked for to try an endpoint.',
  bodyOf([TEST_EVENT], anyObject('Says that it is a test.')),
)

/** The body of each event of projects. */
export const projectWebhooks: Readonly<Record<string, z.ZodType>> = Object.fromEntries([
  ...payments.map((type) => [type, paymentEvent] as const),
  ...refunds.map((type) => [type, refundEvent] as const),
  ...CHECKOUT_EVENTS.map((type) => [type, checkoutEvent] as const),
  [TEST_EVENT, testEvent],
])

const described: Readonly<Record<string, z.ZodType>> = { 'relayer.low': relayerLow }

/** The body of each event of operators. */
export const operatorWebhooks: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  OPERATOR_EVENTS.map((type) => {
    const id = `${type.replaceAll(/(^|[._])(\w)/g, (_all, _dot, first: string) => first.toUpperCase())}Webhook`
    const anyBody = (): z.ZodType =>
      document(id, 'A webhook for operators.', bodyOf([type], anyObject('What has happened.')))
    return [type, described[type] ?? anyBody()]
  }),
)
