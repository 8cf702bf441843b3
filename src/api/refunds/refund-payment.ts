import type { Response } from 'express'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { recordId } from '../../ledger/index.js'
import { isRefundRecord, type RefundRecord, type RefundRequest } from '../../ledger/refunds.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { decodePayment, isReadable } from '../../shared/protocol/decoded-payment.js'
import type { PaymentFacts, ReadablePayment } from '../../shared/protocol/decoded-payment.js'
import type { DocumentError } from '../../shared/protocol/document.js'
import type { Erc3009Payload } from '../../shared/protocol/erc3009.js'
import { formatDecimal, trimDecimal } from '../../shared/money/decimal.js'
import { sameHex } from '../../shared/protocol/hex.js'
import { EXACT, X402_VERSION } from '../../shared/protocol/payment.js'
import type { Reason } from '../../shared/protocol/reasons.js'
import { isRefusal, RefundRefused } from '../../core/schemes/scheme.js'
import { authorOf, keyScopeOf, noteAct, payeeOf, type Payee } from '../serve/acting.js'
import type { RouterContext } from '../context.js'
import type { Call } from '../serve/define-endpoint.js'
import type { MadeDocument } from '../documents/component.js'
import type { refund as refundSchema } from '../documents/settlement.js'
import { invalidBody } from '../serve/json-body.js'
import {
  exceedsPayment,
  findRefundable,
  leftOf,
  nowSeconds,
  refundProblem,
  requireLocal,
  type Refundable,
} from './refundable.js'
import { refundDocuments } from './refund-documents.js'
import { onceForKey, readHeaderKey } from '../serve/repeatable-request.js'

/**
 * Longest validity of an authorization (s). Until it lapses, the amount of a failed refund is not free again.
 */
const MOST_VALIDITY_SECONDS = 3600n

type RefundDocument = MadeDocument<typeof refundSchema>

type RefundBody = Erc3009Payload & { readonly reason?: string | null | undefined }

interface SignedRefund {
  readonly refundable: Refundable
  readonly payment: ReadablePayment
  readonly request: RefundRequest
}

/**
 * `POST …/settlements/{id}/refunds`.
 *
 * The authorization names the refund: presented again, it has the same answer, also without an
 * `Idempotency-Key`, and is paid once.
 */
export async function refundPayment(
  context: RouterContext,
  { req, res, param, readBody }: Call<unknown, RefundBody>,
): Promise<RefundDocument> {
  const merchant = payeeOf(res)
  requireLocal(context)
  const body = readBody()
  const settlement = param('id')
  const keyed = readHeaderKey(req, {
    res,
    ...keyScopeOf(res, 'refund'),
    body: { settlement, ...body },
  })
  const refund = await onceForKey(context, keyed, async (claim) => {
    const made = await makeRefund(context, { res, settlement, merchant, body })
    if (made.status !== 'pending') await claim.finish(JSON.stringify(made))
    return made
  })
  return respondRefund(res, refund)
}

function respondRefund(res: Response, refund: RefundDocument): RefundDocument {
  // The `status` of problem details is that of HTTP (RFC 9457 §3.1.3).
  const { status, ...failed } = refund
  if (status === 'failed')
    throw new RequestProblem(
      'transaction_failed',
      'The refund failed on chain; the buyer was not paid. Its amount is free again once its authorization has lapsed.',
      failed,
    )
  res.status(status === 'settled' ? 201 : 202)
  return refund
}

interface AskedRefund {
  readonly res: Response
  readonly settlement: string
  readonly merchant: Payee
  readonly body: RefundBody
}

async function makeRefund(
  context: RouterContext,
  { res, settlement, merchant, body: { reason, ...payload } }: AskedRefund,
): Promise<RefundDocument> {
  const refundable = await findRefundable(context, merchant, settlement)
  const payment = paymentOf(context, refundable, payload)
  const requestedBy = authorOf(res)?.actor
  const request = { ...(typeof reason === 'string' && { reason }), requestedBy }
  const signed = { refundable, payment, request }
  const describe = async (made: RefundRecord): Promise<RefundDocument> => {
    const access = requestedBy === undefined ? 'merchant' : 'admin'
    const [document] = await refundDocuments(context, { ...merchant, access }, [made])
    return document!
  }
  const known = await findOwn(context, signed)
  if (known?.state === 'settled' || known?.state === 'failed') return describe(known)
  const errors = findMismatches(context, refundable, payment.facts)
  if (errors.length > 0) throw invalidBody(errors)
  const id = recordId(payment.key)
  const left = leftOf(context, refundable, id)
  if (payment.facts.amount > left) throw exceedsPayment(left)

  const { symbol, decimals } = refundable.asset
  const amount = formatDecimal(trimDecimal({ units: payment.facts.amount, scale: decimals }))
  const about = { settlement, refund: id, amount: `${amount} ${symbol}` }
  const after = { ...about, ...(request.reason && { reason: request.reason }) }
  await noteAct(context, res, { action: 'refund.requested', after, change: `refund ${id}` })
  // Sent before, it stays the request of who asked first.
  const noted = known === undefined ? signed : { ...signed, request: undefined }
  const refused = await settleRefund(context, noted)
  const made = await findOwn(context, signed)
  // Without a record, nothing was sent.
  if (made === undefined) throw refusedProblem(refused)
  return describe(made)
}

/**
 * Sends a refund and waits for the outcome.
 *
 * @param signed - Its request is noted, if it has one.
 * @returns Why it was not paid, or not yet.
 */
async function settleRefund(
  { facilitator, ledger }: RouterContext,
  {
    refundable: { merchant, payment: refunded, asset },
    payment,
    request,
  }: Omit<SignedRefund, 'request'> & { readonly request: RefundRequest | undefined },
): Promise<Reason | undefined> {
  const { project } = merchant
  // A refund keeps its payment's details, without the price.
  const { askedPrice: _price, ...details } = refunded.details ?? {}
  const terms = { payTo: refunded.from, accepts: [asset], project, details }
  const options = { isSettledNow: true, refundOf: refunded.id }
  const reserved = await facilitator.reserve(payment, terms, options).catch((error: unknown) => {
    throw error instanceof RefundRefused ? refundProblem(error.refusal) : error
  })
  if (isRefusal(reserved)) return reserved.refused
  if (request !== undefined)
    await ledger.refunds
      .noteRequest(recordId(payment.key), request)
      .catch(async (error: unknown) => {
        await reserved.release()
        throw error
      })
  const answer = await reserved.settle()
  if (!answer.success) return answer.errorReason
  await reserved.markDelivered()
  return undefined
}

async function findOwn(
  { ledger }: RouterContext,
  { refundable, payment }: SignedRefund,
): Promise<RefundRecord | undefined> {
  const record = await ledger.payments.find(payment.key)
  const isOwn = record?.refundOf === refundable.payment.id
  return isOwn && isRefundRecord(record) ? record : undefined
}

function paymentOf(
  { facilitator }: RouterContext,
  { payment, asset }: Refundable,
  payload: Erc3009Payload,
): ReadablePayment {
  const { authorization } = payload
  const accepted = {
    scheme: EXACT,
    network: asset.network.caip2,
    asset: asset.address,
    payTo: payment.from,
    amount: authorization.value,
    maxTimeoutSeconds: Number(MOST_VALIDITY_SECONDS),
  }
  const decoded = decodePayment(
    { x402Version: X402_VERSION, accepted, payload: { ...payload } },
    accepted,
    facilitator.formats,
  )
  if (!isReadable(decoded)) throw new Error('An authorization that was parsed is not readable.')
  return decoded
}

/** Tells how an authorization differs from a refund of the settlement. */
function findMismatches(
  context: RouterContext,
  { payment }: Refundable,
  { payer, payTo, amount, validBefore }: PaymentFacts,
): readonly DocumentError[] {
  const errors: DocumentError[] = []
  const report = (name: string, message: string): void =>
    void errors.push({ path: `authorization.${name}`, message })
  if (!sameHex(payer, payment.payTo))
    report('from', `must be ${checksumAddress(payment.payTo)}, which this settlement was paid to`)
  if (!sameHex(payTo, payment.from))
    report('to', `must be ${checksumAddress(payment.from)}, which paid`)
  if (amount === 0n) report('value', 'must be greater than 0')
  if (validBefore > nowSeconds(context) + MOST_VALIDITY_SECONDS)
    report('validBefore', `must be at most ${MOST_VALIDITY_SECONDS} s from now`)
  return errors
}

function refusedProblem(reason: Reason | undefined): RequestProblem {
  const errorReason = reason ?? 'unexpected_settle_error'
  return new RequestProblem('refund_refused', REFUSED[errorReason] ?? USUAL_REFUSAL, {
    errorReason,
  })
}

const USUAL_REFUSAL = 'The refund was refused, and nothing was sent: see errorReason.'

const REFUSED: Partial<Record<Reason, string>> = {
  insufficient_funds: 'The merchant’s address holds too little of the token: nothing was sent.',
  invalid_exact_evm_payload_signature:
    'The signature is not that of the address which was paid, over this authorization: nothing was sent.',
  invalid_exact_evm_nonce_already_used:
    'This authorization was used before, or cancelled: prepare another refund, and have that signed.',
  invalid_exact_evm_payload_authorization_valid_before:
    'The authorization has lapsed, or is about to: prepare the refund again, and have that signed.',
  payer_temporarily_refused:
    'Transfers from the merchant’s address have failed on chain just now: try again in a while.',
}
