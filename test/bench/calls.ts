/** The requests of the benchmark, and which of their answers are good. */
import type { PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { paymentHeader } from '../support/http.js'
import type { SignedPayments } from './buyers.js'
import type { Answer, Call } from './load.js'
import { API, PAID, TOKEN } from './servers/setup.js'

/** Buys with each payment, or verifies or settles it. */
export function callsFor(
  url: string,
  payments: SignedPayments,
  toCall: (url: string, payment: PaymentPayload) => Call,
): readonly (readonly Call[])[] {
  return payments.map((own) => own.map((payment) => toCall(url, payment)))
}

/** A paid request. */
export function buy(url: string, payment: PaymentPayload): Call {
  return { method: 'GET', url: url + PAID, headers: paymentHeader(payment) }
}

/** Whether the goods came, and with them that they are paid for. */
export function isSold({ status, headers }: Answer): boolean {
  const response = headers['payment-response']
  if (status !== 200 || typeof response !== 'string') return false
  return (
    (JSON.parse(Buffer.from(response, 'base64').toString()) as { success: unknown }).success ===
    true
  )
}

/** A call of a stack's own API. */
export function callApi(
  stack: 'ours' | 'official',
  what: 'verify' | 'settle',
  paymentRequirements: PaymentRequirements,
): (url: string, payment: PaymentPayload) => Call {
  const path = API[stack][what]
  return (url, paymentPayload) => {
    const body = JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements })
    const headers = {
      'Content-Type': 'application/json',
      'X-Project-Identify-Token': TOKEN,
    }
    return { method: 'POST', url: url + path, headers, body }
  }
}

/** Whether verify, or settle, has said yes. */
export function isApproved({ status, body }: Answer): boolean {
  if (status !== 200) return false
  const { isValid, success } = JSON.parse(body) as { isValid?: unknown; success?: unknown }
  return isValid === true || success === true
}
