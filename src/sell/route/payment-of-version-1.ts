import type { Merchant } from '../../core/merchants/project.js'
import type { Asset } from '../../shared/money/assets.js'
import { decodePayment, type PaymentFacts } from '../../shared/protocol/decoded-payment.js'
import type { Parsed } from '../../shared/protocol/document.js'
import { sameNetwork } from '../../shared/protocol/networks.js'
import { EXACT, X402_VERSION } from '../../shared/protocol/payment.js'
import type { PaymentPayload, PaymentRequirements } from '../../shared/protocol/payment.js'
import { parsePaymentV1, type PaymentV1 } from '../../shared/protocol/version-1.js'
import { isPermit2 } from '../../shared/protocol/same-offer.js'
import type { SchemeFormats } from '../../core/schemes/scheme.js'

/** Address of no token: what the merchant does not take has none. */
const NO_TOKEN = `0x${'0'.repeat(40)}`

/** The seller of a route that is open to version 1. */
export type Seller = Pick<Merchant, 'accepts' | 'maxTimeoutSeconds'>

/**
 * Reads a payment of version 1 as one of version 2.
 *
 * It does not say which offer it accepts: that is what was signed, payee and amount of the authorization, in
 * the token whose signature it bears. The offer of the route is compared with it afterwards.
 */
export async function readPaymentV1(
  document: unknown,
  seller: Seller,
  formats: SchemeFormats,
): Promise<Parsed<PaymentPayload>> {
  const payment = parsePaymentV1(document)
  if (!payment.ok) return payment
  // Another scheme is read as far as possible: it is refused by its name.
  const format = formats.get(payment.value.scheme) ?? formats.get(EXACT)
  const read = format?.decode(payment.value.payload) ?? ({ ok: false, errors: [] } as const)
  if (!read.ok)
    return {
      ok: false,
      errors: read.errors.map((error) => ({ ...error, path: `payload.${error.path}` })),
    }
  const candidates = seller.accepts
    .filter(({ network }) => sameNetwork(network.caip2, payment.value.network))
    .map((asset) => payloadFor(payment.value, read.value, { seller, asset, formats }))
  const [first = payloadFor(payment.value, read.value, { seller, formats }), ...others] = candidates
  const value = others.length === 0 ? first : ((await findSigned(candidates, formats)) ?? first)
  return { ok: true, value }
}

interface Chosen {
  readonly seller: Seller
  readonly asset?: Asset
  readonly formats: SchemeFormats
}

function payloadFor(
  { scheme, network, payload, extensions }: PaymentV1,
  { amount, payTo }: PaymentFacts,
  { seller: { maxTimeoutSeconds }, asset, formats }: Chosen,
) {
  const offers = asset && formats.get(scheme)?.offers(asset, {})
  const accepted = {
    scheme,
    network,
    amount: String(amount),
    payTo,
    maxTimeoutSeconds,
    asset: asset?.address ?? NO_TOKEN,
    // Version 1 does not know Permit2.
    extra: offers?.find((extra) => !isPermit2({ extra })),
  } satisfies PaymentRequirements
  return { x402Version: X402_VERSION, accepted, payload, extensions }
}

/** The signature of a contract's account fits none: such a payment is taken for the first token. */
async function findSigned(
  candidates: readonly ReturnType<typeof payloadFor>[],
  formats: SchemeFormats,
): Promise<PaymentPayload | undefined> {
  for (const payload of candidates) {
    const payment = decodePayment(payload, payload.accepted, formats)
    if (await formats.get(payload.accepted.scheme)?.isSignedByPayer(payment)) return payload
  }
  return undefined
}
