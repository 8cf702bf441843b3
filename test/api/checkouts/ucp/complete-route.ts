import express, { type Request, type Response } from 'express'
import type { Gateway, UcpCompletionOptions } from '../../../../src/index.js'

/** A checkout, as your shop stores it. */
interface Checkout {
  readonly id: string
  /** What checkout-prepare answered last: config of the handler's entry. */
  readonly x402: UcpCompletionOptions['config']
  status: string
  order?: { readonly id: string; readonly permalink_url: string }
}

interface Shop {
  findCheckout(id: string): Promise<Checkout>
  /** Never replaces `completed`: another request may have paid the checkout meanwhile. */
  saveCheckout(checkout: Checkout): Promise<void>
  /** Places the order of a checkout, or finds the one that is there. Throws what it cannot deliver. */
  placeOrder(checkout: Checkout): Promise<void>
  cancelOrder(checkout: Checkout): Promise<void>
  /** Writes the checkout as UCP has it. */
  describe(checkout: Checkout): object
}

export function completeRoute(gateway: Gateway, shop: Shop) {
  async function complete(req: Request<{ id: string }>, res: Response): Promise<void> {
    const checkout = await shop.findCheckout(req.params.id)
    // Answers are kept for a day: afterwards, only your own records know that it is paid.
    if (checkout.status === 'completed')
      return void res.json({ ...shop.describe(checkout), messages: [] })
    const [instrument] = req.body.payment.instruments
    const { status, messages, httpStatus } = await gateway.completeWithX402(instrument, {
      config: checkout.x402,
      placeOrder: () => shop.placeOrder(checkout),
      cancelOrder: () => shop.cancelOrder(checkout),
    })
    checkout.status = status
    if (status === 'completed')
      checkout.order = {
        id: checkout.id,
        permalink_url: `https://shop.example/orders/${checkout.id}`,
      }
    await shop.saveCheckout(checkout)
    res.status(httpStatus).json({ ...shop.describe(checkout), messages })
  }
  return express
    .Router()
    .post('/checkout-sessions/:id/complete', express.json(), (req, res, next) => {
      complete(req, res).catch(next)
    })
}
