/** The example checkout of the specification, at each step: two books for $15.00. */
import { writeProfile } from '../business-profile.js'
import {
  checkoutEntry,
  handlerDescriptor,
  UCP_VERSION,
  ucpSchema,
  type Handler,
} from '../handler.js'
import { EXAMPLE_RESOURCE, exampleInstrument, exampleOffer } from './payment.js'

const SHOPPING = 'dev.ucp.shopping'
const CHECKOUT = 'dev.ucp.shopping.checkout'

const SPECIFICATION = `https://ucp.dev/${UCP_VERSION}/specification`

const checkoutCapability = {
  version: UCP_VERSION,
  spec: `${SPECIFICATION}/checkout`,
  schema: ucpSchema('shopping/checkout.json'),
}

/** Profile of the business, at `/.well-known/ucp`. */
export function exampleBusinessProfile(handler: Handler) {
  return writeProfile({
    services: {
      [SHOPPING]: [
        {
          version: UCP_VERSION,
          spec: `${SPECIFICATION}/overview`,
          transport: 'rest',
          schema: `https://ucp.dev/${UCP_VERSION}/services/shopping/rest.openapi.json`,
          endpoint: 'https://shop.example/ucp/v1',
        },
      ],
    },
    capabilities: { [CHECKOUT]: [checkoutCapability] },
    paymentHandlers: { [handler.id]: [handlerDescriptor(handler)] },
  })
}

/** Profile of the platform, at the address that it sends with its requests. */
export function examplePlatformProfile(handler: Handler) {
  return writeProfile({
    services: {},
    capabilities: { [CHECKOUT]: [checkoutCapability] },
    paymentHandlers: { [handler.id]: [handlerDescriptor(handler)] },
  })
}

/** Request body of checkout-prepare. */
export const examplePrepareRequest = {
  amount: '15.00',
  currency: 'USD',
  resource: EXAMPLE_RESOURCE,
}

/** Response body of checkout-prepare. */
export function examplePrepareResponse(handler: Handler) {
  const { id } = handler
  return { [id]: [checkoutEntry(id, exampleOffer(handler))] }
}

/** The checkout, ready for payment. */
export function exampleCheckout(handler: Handler) {
  const amount = 1500
  return {
    ucp: {
      version: UCP_VERSION,
      capabilities: { [CHECKOUT]: [{ version: UCP_VERSION }] },
      payment_handlers: examplePrepareResponse(handler),
    },
    id: 'chk_42',
    status: 'ready_for_complete',
    currency: 'USD',
    line_items: [
      {
        id: 'line_1',
        item: { id: 'book_7', title: 'A book', price: amount / 2 },
        quantity: 2,
        totals: [{ type: 'total', amount }],
      },
    ],
    totals: [
      { type: 'subtotal', amount },
      { type: 'total', amount },
    ],
    links: [{ type: 'terms_of_service', url: 'https://shop.example/terms' }],
  }
}

/** Request body with which the platform completes the checkout. */
export function exampleCompletion(handler: Handler) {
  return { payment: { instruments: [exampleInstrument(handler)] } }
}

/** The checkout, paid. */
export function exampleCompleted(handler: Handler) {
  return {
    ...exampleCheckout(handler),
    status: 'completed',
    order: { id: 'order_42', permalink_url: 'https://shop.example/orders/order_42' },
  }
}

/** The checkout after its payment was refused. */
export function exampleRefused(handler: Handler) {
  const message = {
    type: 'error',
    code: 'payment_failed',
    path: '$.payment.instruments[0]',
    content: 'The account does not hold enough USDC. Pay from another one.',
    severity: 'recoverable',
  }
  return { ...exampleCheckout(handler), messages: [message] }
}
