import type { Response } from 'express'
import { readListing, type ClaimedResource } from '../../core/catalogue/listing.js'
import type { KeyClaim } from '../../ledger/once/once.js'
import { isClosed } from '../../shared/http/once-closed.js'
import type { KeptAnswer } from '../../ledger/once/store.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { chargedPayment } from '../../core/facilitator/charged-payment.js'
import { decodePayment, type Payment } from '../../shared/protocol/decoded-payment.js'
import {
  BAZAAR,
  type PaymentRequirements,
  type SettleResponse,
} from '../../shared/protocol/payment.js'
import { encodeHeader, EXTENSION_RESPONSES } from '../../shared/protocol/headers.js'
import { isFinal, unsettledResponse } from '../../shared/protocol/reason-words.js'
import { isFailedTransaction } from '../../shared/protocol/reasons.js'
import {
  isRefusal,
  refusalResponse,
  type Refusal,
  type Reservation,
} from '../../core/schemes/scheme.js'
import { deliveredAnswer } from '../../ledger/delivered-answer.js'
import type { PaymentDetails } from '../../ledger/payment-details.js'
import { findAcceptedAsset, listsOrigin, type Merchant } from '../../core/merchants/project.js'
import type { Asset } from '../../shared/money/assets.js'
import { faceValueOf } from '../../shared/money/face-value.js'
import type { AppliedRate } from '../../shared/money/rates.js'
import { CHECKOUT_ID_PREFIX } from '../../shared/protocol/offer-id.js'
import { parseUint256 } from '../../shared/protocol/primitives.js'
import { merchantOf } from '../serve/authenticate.js'
import type { RouterContext } from '../context.js'
import type { Call } from '../serve/define-endpoint.js'
import { readSubmission } from './other-version.js'
import { bindPaymentId, paymentIdKey } from './payment-id.js'
import { identifySubmission, type IdentifiedSubmission, type Submission } from './submission.js'
import { appliedRateOf } from './quote-fiat.js'
import { checkoutReferenceOf, offerSubjectOf } from './checkout-reference.js'
import { onceForKey, readHeaderKey, type KeyedRequest } from '../serve/repeatable-request.js'

/** The result of a settlement. Stored as JSON, so that its members keep their names. */
interface SettleOutcome {
  readonly answer: SettleResponse
  /** A transaction was sent for this request, and did not pay the merchant. */
  readonly failed: boolean
}

interface SettleRequest {
  readonly res: Response
  readonly submission: IdentifiedSubmission
  /** The claim of the request's `Idempotency-Key`. */
  readonly claim: KeyClaim
  readonly byId: KeyedRequest | undefined
  /** A hash of the key that its client may ask again with: only the asker of a settlement is told of it again. */
  readonly asker: string | undefined
}

/**
 * `POST /api/v2/payment/settle`.
 *
 * A repeated `Idempotency-Key` repeats every final answer. A payment's id, which its buyer chooses, repeats none.
 */
export async function settlePayment(
  context: RouterContext,
  call: Call<unknown, Submission>,
): Promise<SettleResponse> {
  const { req, res } = call
  const { project } = merchantOf(res)
  const submitted = readSubmission(context, call)
  if (submitted.submission === undefined) return unsettledResponse(submitted.other)
  const submission = identifySubmission(submitted.submission)
  const byId = paymentIdKey(context, res, submission)
  const byHeader = readHeaderKey(req, { res, project, endpoint: 'settle', body: submission })

  const { answer, failed } = await onceForKey(context, byHeader, async (claim) => {
    const asker = byHeader?.key
    const outcome = await reserveAndSettle(context, { res, submission, claim, byId, asker })
    if (isFinalOutcome(outcome)) await claim.finish(JSON.stringify(outcome))
    return outcome
  })
  if (!failed) return answer
  const detail = answer.success ? undefined : answer.errorMessage
  throw new RequestProblem('transaction_failed', detail ?? 'The transaction failed on chain.', {
    ...answer,
  })
}

/**
 * Tells whether a key repeats an answer: the same request could only get the same one, or it has cost a
 * transaction. A payment that has failed may be sent again, by a request with another key.
 */
function isFinalOutcome({ answer, failed }: SettleOutcome): boolean {
  if (answer.success) return true
  return failed ? answer.transaction !== '' : isFinal(answer.errorReason)
}

async function reserveAndSettle(
  context: RouterContext,
  request: SettleRequest,
): Promise<SettleOutcome> {
  const { res, submission, byId, asker } = request
  const { paymentPayload, paymentRequirements } = submission
  const merchant = merchantOf(res)
  context.counters.count(merchant.project, 'presented')
  const { formats } = context.facilitator
  const decoded = decodePayment(paymentPayload, paymentRequirements, formats)
  const { payment, charge } = chargedPayment(decoded, formats)
  const offered = { ...submission, paymentRequirements: payment.requirements }
  const appliedRate = await appliedRateOf(context, merchant, payment.requirements)
  const details = await detailsOf(context, merchant, { submission: offered, appliedRate })
  const terms = { ...merchant, appliedRate, details, purchase: { asker } }
  const reserved = await context.facilitator.reserve(payment, terms)
  if (isRefusal(reserved)) {
    const answer = refusalResponse(reserved, paymentRequirements.network)
    const kept = await keptOutcome(context, request, { payment, refusal: reserved })
    return kept ?? { answer, failed: false }
  }
  if (byId !== undefined)
    await bindPaymentId(context, byId).catch(async (error: unknown) => {
      await reserved.release()
      throw error
    })

  const answer = await reserved.settle(charge)
  if (!answer.success) return { answer, failed: isFailedTransaction(answer.errorReason) }
  const outcome = { answer, failed: false }
  const kept = { answer: JSON.stringify(outcome), delivery: reserved.lock }
  await markDelivered(reserved, request, kept)
  await listSale(context, request, { merchant, entry: payment.requirements, answer })
  return outcome
}

interface Sale {
  readonly merchant: Merchant
  /** What was offered: of a metered sale with the maximum, which buyers sign. */
  readonly entry: PaymentRequirements
  readonly answer: Extract<SettleResponse, { success: true }>
}

/** Lists what was paid for, if its server has described it (`bazaar`), and tells whether it is listed. */
async function listSale(
  context: RouterContext,
  { res, submission: { paymentPayload } }: SettleRequest,
  sale: Sale,
): Promise<void> {
  const { resource, extensions } = paymentPayload
  const bazaar = extensions?.[BAZAAR]
  if (bazaar === undefined) return
  const claimed = { resource, bazaar, entry: sale.entry }
  // It is paid and delivered: nothing may fail here any more.
  const unknown = (): string => 'the ledger did not answer'
  const rejectedReason = await noteSale(context, claimed, sale).catch(unknown)
  const outcome = rejectedReason ? { status: 'rejected', rejectedReason } : { status: 'success' }
  if (!res.headersSent) res.set(EXTENSION_RESPONSES, encodeHeader({ [BAZAAR]: outcome }))
}

/** @returns Why a sale is not listed, if it is not. */
async function noteSale(
  { catalogue, quotes }: RouterContext,
  claimed: ClaimedResource,
  { merchant, entry, answer }: Sale,
): Promise<string | undefined> {
  const { project, listed } = merchant
  if (listed === false) return 'the project is not listed'
  if (answer.amount === '0') return 'nothing was charged'
  const listing = readListing(claimed)
  if (typeof listing === 'string') return listing
  const url = String(claimed.resource?.['url'])
  const checkout = await quotes.nameOffer(offerSubjectOf(merchant, { url, entry }))
  // Its seller has named URL and price, and nothing else.
  if (entry.extra?.['offerId'] === checkout)
    catalogue.noteListing(project, { ...listing, extensions: undefined })
  else if (listsOrigin(merchant, url)) catalogue.noteListing(project, listing, 1)
  else return 'the project does not list the origin of resource.url'
  return undefined
}

/** What the record of a payment says of it, in the shop's own words. */
export async function detailsOf(
  { quotes }: Pick<RouterContext, 'quotes'>,
  merchant: Merchant,
  {
    submission,
    appliedRate,
  }: { submission: IdentifiedSubmission; appliedRate?: AppliedRate | undefined },
): Promise<PaymentDetails> {
  const { paymentRequirements, reference } = submission
  const asset = findAcceptedAsset(merchant, paymentRequirements)
  const asked = appliedRate ?? (asset && checkoutPrice(paymentRequirements, asset))
  return {
    decimals: asset?.decimals,
    askedPrice: asked && `${asked.price} ${asked.currency}`,
    reference: reference ?? (await checkoutReferenceOf(quotes, merchant, paymentRequirements)),
  }
}

/** The price of a checkout that needed no rate: its amount, by the peg of the token. */
function checkoutPrice({ amount, extra }: PaymentRequirements, asset: Asset) {
  const offerId = extra?.['offerId']
  if (typeof offerId !== 'string' || !offerId.startsWith(CHECKOUT_ID_PREFIX)) return undefined
  const units = parseUint256(amount)
  return units === undefined ? undefined : faceValueOf(units, asset)
}

/** The success that a process kept before it died, where that process has delivered the payment. */
async function keptOutcome(
  { ledger }: RouterContext,
  { claim }: SettleRequest,
  { payment, refusal }: { readonly payment: Payment; readonly refusal: Refusal },
): Promise<SettleOutcome | undefined> {
  if (refusal.refused !== 'invalid_exact_evm_nonce_already_used') return undefined
  const answer = await deliveredAnswer(ledger, claim.kept, payment.key)
  return answer === undefined ? undefined : (JSON.parse(answer) as SettleOutcome)
}

/**
 * Records that the answer is about to go out, after it has been kept for the key.
 *
 * If the client has disconnected, it may ask again: by its key, or, if it has none, with the same payment, which is
 * reopened for that.
 */
async function markDelivered(
  reservation: Reservation,
  { res, claim }: SettleRequest,
  answer: KeptAnswer,
): Promise<void> {
  await claim.keep(answer)
  const isForNobody = (): boolean => isClosed(res) && !claim.hasKey
  const recorded = isForNobody() ? reservation.reopen() : deliver(reservation, isForNobody)
  await recorded.catch(async (error: unknown) => {
    await claim.keep(undefined)
    throw error
  })
}

/** The client may disconnect while its delivery is written down. */
async function deliver(reservation: Reservation, isForNobody: () => boolean): Promise<void> {
  await reservation.markDelivered()
  if (isForNobody()) await reservation.undeliver()
}
