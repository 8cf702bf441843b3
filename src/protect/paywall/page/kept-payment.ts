/**
 * The signed payment for this page, kept in the tab until its outcome is known. It is stored before it is
 * sent, so that no reload or lost response makes the buyer sign twice.
 */

export interface KeptPayment {
  /** Value of the payment header (base64url). */
  readonly header: string
  /** When the authorization lapses (Unix seconds). */
  readonly validBefore: number
  readonly network: string
  readonly explorer?: string | undefined
  /** Whether the purchase was received and can only be shown again. */
  readonly isDelivered: boolean
  /** Whether it was presented before and may be settled, whatever the next response says. */
  readonly isPresented?: boolean
}

const KEY = `x402-payment:${location.pathname}${location.search}`

/** Reads the payment. Without storage, it lives as long as the page. */
export function readKept(): KeptPayment | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as KeptPayment | null
    return typeof kept?.header === 'string' ? kept : undefined
  } catch {
    return undefined
  }
}

/** Keeps a payment; `undefined` forgets it. */
export function keep(payment: KeptPayment | undefined): void {
  try {
    if (payment === undefined) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, JSON.stringify(payment))
  } catch {
    // Without storage, the payment is still in memory.
  }
}
