import type { Exchange } from '../flow/exchange.js'
import type { Caller } from '../flow/paid-call.js'
import type { ExceededLimit } from '../flow/payment-rate-limit.js'
import { SIGN_IN_WITH_X } from '../../shared/protocol/sign-in.js'
import { keepPrivateOnHead } from '../respond/cache-control.js'
import { hidePayment } from '../respond/hide-payment.js'
import type { Offer } from '../route/offer.js'
import type { PaidRoute } from '../route/route.js'

/** The `error` of a 402 that asks for a sign-in alone. */
const NOT_SIGNED_IN = 'Sign-in required'

/**
 * Offers what a request asks for, once it is known who asks.
 *
 * @returns `undefined` if nothing is to be paid: it is free, or its caller has signed in and has paid before.
 * @throws As `RouteOffers.make` and `RouteSignIn.read`.
 */
export async function offerToCaller(
  { offers, options, signIn }: PaidRoute,
  exchange: Exchange,
  caller: Pick<Caller, 'count'>,
): Promise<Offer | ExceededLimit | undefined> {
  const { view, req, res, input } = exchange
  if (signIn === undefined) return offers.make(view)
  // Anybody can sign, and each signature is checked and written down.
  const tries = view.header(SIGN_IN_WITH_X) !== undefined
  const exceeded = tries ? await caller.count() : undefined
  if (exceeded !== undefined) return exceeded
  const read = await signIn.read(view)
  if (read !== undefined && 'kind' in read) return read
  const signedIn = read !== undefined && 'address' in read ? read : undefined
  if (signedIn !== undefined) req.x402 = res.locals['x402'] = { signedIn, input }
  const offer = await offers.make(view)
  if (offer === undefined && options.signIn !== true) return undefined
  if (signedIn !== undefined && (!offer || (await signIn.isOpen(view, signedIn, offer.price)))) {
    hidePayment(req)
    keepPrivateOnHead(res)
    return undefined
  }
  const refused = read !== undefined && 'error' in read ? read : undefined
  const unsigned = refused ?? (offer === undefined ? { error: NOT_SIGNED_IN } : undefined)
  return { ...(offer ?? offers.unpriced(view)), signIn: await signIn.ask(view), unsigned }
}
