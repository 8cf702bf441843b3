/** Checkouts, as the API shows them. */
import { z } from 'zod'
import { CHECKOUT_STATUSES } from '../../ledger/checkouts.js'
import { document } from './component.js'
import { list, nextCursor, text, time } from './fields.js'

export const checkout = document('Checkout', 'A payment link, which is paid once.', {
  id: text('Id of the checkout.', `co_${'0'.repeat(32)}`),
  url: text('The link: a page for people, a 402 for programs.', 'https://pay.example/pay/co_…'),
  status: z.enum(CHECKOUT_STATUSES).meta({
    description:
      '`open` also while a payment is under way: then there is a `settlement`. `paid`: once. `expired`, `canceled`: nobody can pay it any more.',
  }),
  amount: text('Price in major units.', '15.00'),
  currency: text('Currency of the price (ISO 4217).', 'USD'),
  reference: text('The merchant’s own name for the payment.', 'order-7').optional(),
  description: text('What is bought, for people.', 'Two books').optional(),
  successUrl: text('Where people go once they have paid.').optional(),
  cancelUrl: text('Where people go who do not want to pay.').optional(),
  settlement: text('Id of the settlement that has paid it, or is under way.').optional(),
  paidAt: time('When it was paid.').optional(),
  expiresAt: time('Until when it can be paid.'),
  createdAt: time('When it was created.'),
})

export const checkoutList = document('CheckoutList', 'A page of checkouts.', {
  checkouts: list('Newest first.', checkout),
  nextCursor,
})
