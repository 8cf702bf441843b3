/**
 * Signed refunds, kept for all tabs of the browser until the gateway has said what became of them. The same refund is
 * made once, however often it is sent.
 */
import { ask, toProblem } from './client.js'
import type { RefundToSign } from './documents.js'

/** A refund, as its endpoint takes it. */
export interface SignedRefund {
  readonly authorization: RefundToSign['message']
  readonly signature: string
  readonly reason?: string
}

/** The problems that decide about a refund. After any other, it may have been made, or can be in a moment. */
const ANSWERS = [
  'transaction_failed',
  'settlement_not_refundable',
  'refund_refused',
  'refund_exceeds_payment',
  'invalid_request',
]

const nameOf = (settlement: string): string => `x402-refund:${settlement}`

/** The refund of a settlement that has no answer yet. */
export function findKept(settlement: string): SignedRefund | undefined {
  const kept = localStorage.getItem(nameOf(settlement))
  return kept === null ? undefined : (JSON.parse(kept) as SignedRefund)
}

/** Forgets the refund of a settlement: what became of it is known. */
export const forget = (settlement: string): void => localStorage.removeItem(nameOf(settlement))

/** Sends a refund, unless another tab has one without an answer: then that. @returns What was made. */
export async function sendOnce(
  settlement: string,
  path: string,
  signed: SignedRefund,
): Promise<SignedRefund> {
  const body = findKept(settlement) ?? signed
  localStorage.setItem(nameOf(settlement), JSON.stringify(body))
  const problem = await ask('POST', path, { body }).then(() => undefined, toProblem)
  if (problem === undefined || (ANSWERS.includes(problem.code) && !problem.isDelivering))
    forget(settlement)
  if (problem !== undefined) throw problem
  return body
}
