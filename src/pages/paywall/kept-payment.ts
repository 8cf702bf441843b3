/**
 * The signed payment for this page, kept for all tabs of the browser: until its outcome is known, and then for
 * as long as the server can send the purchase again. It is stored before it is sent, so that no reload or lost
 * response makes the buyer sign twice.
 */
import { data, serverNow } from './data.js'
import type { ReceiptFacts } from './receipt-facts.js'

export interface KeptPayment {
  /** Value of the payment header (base64url). */
  readonly header: string
  /** When it was signed (Unix seconds of the server). */
  readonly signedAt: number
  /** When the authorization lapses (Unix seconds). */
  readonly validBefore: number
  /** Whether it was presented before and may be settled, whatever the next response says. */
  readonly isPresented?: boolean
  /** Whether the purchase was received, and can be shown again. */
  readonly received?: 'again' | 'once'
  readonly receipt: ReceiptFacts
}

const PREFIX = 'x402-payment:'
const KEY = PREFIX + location.pathname + location.search

/**
 * How long to keep a payment that cannot be shown again (s): its outcome is unknown, or its receipt is all that
 * the buyer has.
 */
const KEPT_SECONDS = 30 * 86_400

/** Reads the payment. Without storage, it lives as long as the page. */
export function readKept(): KeptPayment | undefined {
  return read(KEY)
}

/** Keeps a new payment, in place of the one before. */
export function keep(payment: KeptPayment): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(payment))
  } catch {
    // Without storage, the payment is still in memory.
  }
}

/** Keeps what is known of a payment now, unless another one has taken its place. */
export function update(payment: KeptPayment): void {
  if (readKept()?.header === payment.header) keep(payment)
}

/**
 * Forgets a payment, unless another one has taken its place.
 *
 * @param before - The payment whose place it took: it is kept again.
 */
export function forget({ header }: KeptPayment, before?: KeptPayment): void {
  if (readKept()?.header !== header) return
  if (before === undefined) localStorage.removeItem(KEY)
  else keep(before)
}

/** Calls back when another tab has changed the payment. @returns A function that ends it. */
export function onKeptElsewhere(listener: () => void): () => void {
  const onStorage = ({ key }: StorageEvent): void => {
    // All of it was cleared.
    if (key === KEY || key === null) listener()
  }
  addEventListener('storage', onStorage)
  return () => removeEventListener('storage', onStorage)
}

/** Removes the payments of all pages that are of no more use. */
export function removeOld(): void {
  try {
    for (const key of Object.keys(localStorage))
      if (key.startsWith(PREFIX) && read(key) === undefined) localStorage.removeItem(key)
  } catch {
    // Nothing is stored.
  }
}

/** When a purchase can no longer be shown again (Unix seconds). The server counts from the response. */
export function shownUntil({ signedAt }: KeptPayment): number {
  return signedAt + data.storedSeconds
}

function read(key: string): KeptPayment | undefined {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? 'null') as KeptPayment | null
    if (typeof kept?.header !== 'string' || typeof kept.receipt !== 'object') return undefined
    const until = kept.received === 'again' ? shownUntil(kept) : kept.signedAt + KEPT_SECONDS
    return serverNow() < until ? kept : undefined
  } catch {
    return undefined
  }
}
