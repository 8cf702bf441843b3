import type { KeptAnswer } from './once/store.js'
import type { PaymentKey, LedgerStore } from './index.js'

/**
 * The answer that a process kept before it died, where the payment was delivered by that very process.
 *
 * A process may have died before it delivered: then another request has the payment's goods, or a refund
 * its money, and the answer is nobody's.
 */
export async function deliveredAnswer(
  ledger: Pick<LedgerStore, 'payments' | 'refunds'>,
  kept: KeptAnswer | undefined,
  key: PaymentKey | undefined,
): Promise<string | undefined> {
  if (kept?.delivery === undefined || key === undefined) return undefined
  const record = await ledger.payments.find(key)
  if (record?.delivery !== kept.delivery) return undefined
  const refunds = await ledger.refunds.refundsOf([record.id])
  return refunds.length === 0 ? kept.answer : undefined
}
