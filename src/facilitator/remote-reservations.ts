import { z } from 'zod'
import { checksumAddress } from '../crypto/checksum-address.js'
import { ledgerEntryOf } from '../ledger/ledger-entry.js'
import type { LedgerStore } from '../ledger/ledger.js'
import { isGoodOnEarlierTerms } from '../ledger/purchase.js'
import { REMOTE_SUBMISSION } from '../ledger/record-transaction.js'
import type { Logger } from '../logger.js'
import { invalidResponse } from '../protocol/reason-words.js'
import { isAuthorized, type AuthorizedPayment, type Payment } from '../protocol/decoded-payment.js'
import { withoutPaymentId } from '../protocol/payment-identifier.js'
import { EXACT, type PaymentPayload } from '../protocol/payment.js'
import { checkRecord, refusalDetails } from '../schemes/check-record.js'
import { exactFormat } from '../schemes/exact-evm/format.js'
import { authorizationDigest, domainSeparator } from '../schemes/exact-evm/verify/digest.js'
import { parseEcdsaSignature, recoverSigner } from '../schemes/exact-evm/verify/signature.js'
import { checkTerms, redeemingOnly } from '../schemes/scheme.js'
import type { MerchantTerms, Refusal, Reservation, SchemeFormats } from '../schemes/scheme.js'
import { checkOffer } from './check-offer.js'
import { decodingFacilitator } from './decoding-facilitator.js'
import type { Facilitator, ReservingFacilitator } from './facilitator.js'
import { RemotePayment } from './remote-payment.js'

/** Options of {@link createRemoteReservations}. */
export interface RemoteReservationOptions {
  /** Verifies and settles. */
  readonly facilitator: Facilitator
  readonly ledger: LedgerStore
  readonly logger: Logger
  /** Ends the wait for an answer: the gateway closes. */
  readonly closed?: AbortSignal | undefined
}

/** What a remote facilitator is asked to settle. */
const FORMATS: SchemeFormats = new Map([[EXACT, exactFormat]])

/**
 * Adds reservations to a remote facilitator.
 *
 * It verifies and settles; a ledger here keeps which request of ours a payment belongs to.
 */
export function createRemoteReservations(options: RemoteReservationOptions): ReservingFacilitator {
  const { facilitator } = options
  return decodingFacilitator({
    formats: FORMATS,
    async verifyPayment(payment, terms) {
      const { payload, requirements } = payment
      const refused = await checkPayment(options, payment, terms)
      if (refused !== undefined) return invalidResponse({ reason: refused.refused, ...refused })
      return facilitator.verify(withoutPaymentId(payload), requirements, terms)
    },
    async reserve(payment, terms) {
      const refused = await checkPayment(options, payment, terms)
      if (refused !== undefined) return refused
      if (!isAuthorized(payment)) return { refused: 'invalid_payload' }
      const isEarlier = terms && checkTerms(payment.requirements, terms) !== undefined
      return reserve(options, payment, isEarlier ? redeemingOnly(terms) : terms)
    },
    supported: () => facilitator.supported(),
  })
}

async function reserve(
  { facilitator, ledger, logger, closed }: RemoteReservationOptions,
  payment: AuthorizedPayment,
  terms: MerchantTerms | undefined,
): Promise<Reservation | Refusal> {
  const { requirements } = payment
  // Repeats by a payment identifier are answered here: there, they would make a payment good twice.
  const payload = namingResource(withoutPaymentId(payment.payload), terms)
  const entry = ledgerEntryOf(payment, terms)
  const payer = checksumAddress(entry.from)
  const redeemWithoutProof = terms?.redeemWithoutProof
  const purchase = { entry, redeemWithoutProof }
  const reservation = new RemotePayment({
    ...{ ledger, logger, closed, entry, payer, redeemWithoutProof },
    network: requirements.network,
    ask: () => facilitator.settle(payload, requirements, terms),
  })

  const record = await ledger.find(entry)
  if (record === undefined && terms?.purchase?.redeemOnly)
    return { refused: 'quote_expired', payer }
  const inTheWay = checkRecord(record, purchase)
  if (inTheWay !== undefined) {
    const details = record && refusalDetails(record, purchase, inTheWay)
    // It was sent there, as far as is known here, but its transaction is not known here.
    const isRemote = details?.transaction === REMOTE_SUBMISSION.transaction
    const transaction = isRemote ? '' : details?.transaction
    return { refused: inTheWay, payer, ...details, transaction }
  }
  // To the facilitator, a settled payment is a used one: whether its payer presents it is checked here.
  if (record !== undefined && (await isSignedByPayer(payment))) return reservation.resume(record)
  const verified = await facilitator.verify(payload, requirements, terms)
  if (!verified.isValid)
    return { refused: verified.invalidReason, message: verified.invalidMessage, payer }

  if (record === undefined) {
    const other = await ledger.reserve(entry)
    if (other !== undefined)
      return { refused: checkRecord(other, purchase) ?? 'duplicate_settlement', payer }
  } else if (!(await ledger.relock(entry))) return { refused: 'duplicate_settlement', payer }
  return reservation
}

/** Why a payment is refused without asking the facilitator. */
async function checkPayment(
  { ledger }: RemoteReservationOptions,
  payment: Payment,
  terms: MerchantTerms | undefined,
): Promise<Refusal | undefined> {
  const otherOffer = checkOffer(payment, (scheme) => FORMATS.has(scheme))
  if (otherOffer !== undefined) return otherOffer
  const mismatch = terms && checkTerms(payment.requirements, terms)
  if (!isAuthorized(payment)) return { refused: mismatch ?? 'invalid_payload' }
  if (mismatch === undefined) return undefined
  // What it was taken for on earlier terms, it still buys.
  const record = await ledger.find(payment.key)
  return isGoodOnEarlierTerms(record, ledgerEntryOf(payment, terms))
    ? undefined
    : { refused: mismatch }
}

/** The EIP-712 domain of a token, as an offer carries it. */
const eip712Schema = z.object({ name: z.string(), version: z.string() })

/**
 * Whether the payer's own key signed a payment, by the domain in the merchant's offer.
 *
 * The signature of a contract account cannot be checked here.
 */
async function isSignedByPayer({
  signed,
  key: { chainId, asset: verifyingContract },
  requirements,
}: AuthorizedPayment): Promise<boolean> {
  const domain = eip712Schema.safeParse(requirements.extra)
  if (!domain.success) return false
  const { authorization, signature } = signed.value
  const separator = domainSeparator({ ...domain.data, chainId, verifyingContract })
  const ecdsa = parseEcdsaSignature(signature)
  if (ecdsa === undefined) return false
  const signer = await recoverSigner(authorizationDigest(authorization, separator), ecdsa)
  return signer === authorization.from
}

/** Has a payment name the resource it is presented for: the facilitator binds it to that. */
function namingResource(payload: PaymentPayload, terms: MerchantTerms | undefined): PaymentPayload {
  const url = terms?.purchase?.url
  return url === undefined || payload.resource ? payload : { ...payload, resource: { url } }
}
