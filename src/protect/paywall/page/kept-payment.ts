/**
 * The payment that was signed for this page, kept in the tab until its outcome is known.
 *
 * It is written before it is sent, so that no reload and no lost response makes the buyer sign twice.
 */

/** A signed payment. */
export interface KeptPayment {
  /** The value of the payment header: base64url. */
  readonly header: string
  /** When the authorization lapses, in seconds since the epoch. */
  readonly validBefore: number
  /** Name of the network that it moves money on. */
  readonly network: string
  /** Of that network. */
  readonly explorer?: string | undefined
  /** Whether what it has bought was received, so that it can only be shown again. */
  readonly isDelivered: boolean
  /** Whether it was presented before: then it may be settled, whatever the next response says. */
  readonly isPresented?: boolean
}

const KEY = `x402-payment:${location.pathname}${location.search}`

/** Reads it. Without storage, a payment lives as long as the page. */
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
    // Storage is off. The payment is still in memory.
  }
}
