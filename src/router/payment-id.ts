import type { Response } from 'express'
import type { Reservation } from '../schemes/scheme.js'
import { fingerprintOf, idempotencyKey, lookOrWait } from '../idempotency/store.js'
import type { IdempotencyStore } from '../idempotency/store.js'
import type { Parsed } from '../protocol/document.js'
import { readPaymentId } from '../protocol/payment-identifier.js'
import { parsePaymentSubmission } from '../protocol/payment.js'
import type { PaymentSubmission, SettleResponse, VerifyResponse } from '../protocol/payment.js'
import type { AnswerOnceContext, KeyedRequest } from './answer-once.js'
import { RequestProblem } from '../http/problem-response.js'

/** A payment to verify or settle, and the id that its payer gave it. */
export interface Submission extends PaymentSubmission {
  readonly paymentId: string | undefined
}

/** Reads the body of verify and settle, with what we use of its extensions. */
export function parseSubmission(body: unknown): Parsed<Submission> {
  const parsed = parsePaymentSubmission(body)
  if (!parsed.ok) return parsed
  const { paymentPayload, paymentRequirements } = parsed.value
  const id = readPaymentId(paymentPayload)
  if (id.ok)
    return { ok: true, value: { paymentPayload, paymentRequirements, paymentId: id.value } }
  const errors = id.errors.map((error) => ({ ...error, path: `paymentPayload.${error.path}` }))
  return { ok: false, errors }
}

/** A payment of a project, with the request that brings it. */
export interface IdentifiedPayment {
  readonly res: Response
  readonly project: string
  readonly submission: Submission
}

/**
 * What a payment is known by when it comes again: the id that its payer gave it, for its project.
 *
 * @returns `undefined` for a payment without id.
 */
export function keyOfPayment(payment: IdentifiedPayment): KeyedRequest | undefined {
  const { res, project, submission } = payment
  if (submission.paymentId === undefined) return undefined
  const { extensions: _extensions, ...signed } = submission.paymentPayload
  const { scheme, network, asset, payTo, amount } = submission.paymentRequirements
  const required = { scheme, network, asset, payTo, amount }
  return {
    key: idempotencyKey('payment', project, submission.paymentId),
    // What is required counts: who has paid for one thing is not to have a dearer one for it.
    fingerprint: fingerprintOf({ signed, required }),
    res,
    inProgress: 'The first request with this payment is not answered yet: send it again later.',
    conflict: () => anotherPayment(network),
  }
}

/**
 * Binds a payment that is reserved to its id, and does no more: another payment with this id is
 * refused, and `success` is never said twice.
 *
 * @throws {@link RequestProblem} where another payment has the id; the reservation is released.
 */
export async function bindPaymentId(
  store: IdempotencyStore,
  { key, fingerprint, conflict }: KeyedRequest,
  reservation: Reservation,
): Promise<void> {
  try {
    const begun = await store.begin({ key, fingerprint })
    if (begun.state === 'conflict') throw conflict()
    if (begun.state === 'fresh') await begun.claim.pause()
  } catch (error) {
    await reservation.release()
    throw error
  }
}

/**
 * Tells whether a payment was settled for the id that it comes with, which is then repeated. A look
 * binds the id to nothing, and unbinds nothing.
 */
export async function wasSettledForId(
  { idempotency, settleTimeoutMs }: AnswerOnceContext,
  byId: KeyedRequest,
): Promise<boolean> {
  const { key, fingerprint, res } = byId
  const asked = { key, fingerprint, isGone: () => res.destroyed }
  const known = await lookOrWait(idempotency, asked, settleTimeoutMs)
  return known.state === 'paused' ? known.kept !== undefined : known.state === 'done'
}

/**
 * Refuses to verify a payment whose id another one has: it could not be settled.
 *
 * @throws {@link RequestProblem}
 */
export async function requireFreeId(
  { idempotency }: Pick<AnswerOnceContext, 'idempotency'>,
  byId: KeyedRequest,
): Promise<void> {
  const { state } = await idempotency.look(byId)
  if (state !== 'conflict') return
  const invalidReason = 'payment_identifier_conflict'
  const refusal: VerifyResponse = { isValid: false, invalidReason }
  throw new RequestProblem(ANOTHER_PAYMENT, { ...refusal })
}

const ANOTHER_PAYMENT = {
  status: 409,
  code: 'idempotency_conflict',
  detail: 'Another payment has this payment-identifier: nothing was sent for this one.',
} as const

function anotherPayment(network: string): RequestProblem {
  const errorReason = 'payment_identifier_conflict'
  const refusal: SettleResponse = { success: false, errorReason, transaction: '', network }
  return new RequestProblem(ANOTHER_PAYMENT, { ...refusal })
}
