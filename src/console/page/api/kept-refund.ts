/**
 * Signed refunds, kept for all tabs of the browser until the gateway has said what became of them. The same refund is
 * made once, however often it is sent.
 */
import type { TypedData } from '../wallet/sign-refund.js'
import { ask, newKey, toProblem } from './client.js'

/** A refund, as its endpoint takes it. */
interface SignedRefund {
  readonly authorization: TypedData['message']
  readonly signature: string
  readonly reason?: string
}

/** A refund that is sent with the same key each time. */
export interface KeptRefund {
  readonly body: SignedRefund
  readonly key: string
}

/** The problems that decide about a refund. After any other, it may have been made. */
const ANSWERS = [
  'transaction_failed',
  'refund_refused',
  'refund_exceeds_payment',
  'invalid_request',
]

/** Refunds of this page, by settlement, where the browser has no storage. */
const unstored = new Map<string, KeptRefund>()

const nameOf = (settlement: string): string => `x402-refund:${settlement}`

/** The refund of a settlement that has no answer yet. */
export function findKept(settlement: string): KeptRefund | undefined {
  try {
    const stored = localStorage.getItem(nameOf(settlement))
    if (stored !== null) return JSON.parse(stored) as KeptRefund
  } catch {
    // There is no storage.
  }
  return unstored.get(settlement)
}

/** Keeps a refund, unless another tab has kept one meanwhile. @returns What is kept. */
export function keep(settlement: string, body: SignedRefund): KeptRefund {
  const refund = findKept(settlement) ?? { body, key: newKey() }
  try {
    localStorage.setItem(nameOf(settlement), JSON.stringify(refund))
  } catch {
    unstored.set(settlement, refund)
  }
  return refund
}

/** Forgets the refund of a settlement: what became of it is known. */
export function forget(settlement: string): void {
  unstored.delete(settlement)
  try {
    localStorage.removeItem(nameOf(settlement))
  } catch {
    // There is no storage.
  }
}

/** Sends a refund that is kept, and forgets it with the answer. @throws {@link Problem} */
export async function sendKept(
  settlement: string,
  path: string,
  { body, key }: KeptRefund,
): Promise<void> {
  try {
    await ask('POST', path, { body, key })
  } catch (error) {
    if (ANSWERS.includes(toProblem(error).code)) forget(settlement)
    throw error
  }
  forget(settlement)
}
