/**
 * Payments that were taken at a price which nobody signed: at an earlier one, or for what was used.
 *
 * They buy the response that was made for them then. No handler runs: what it gives may have another
 * price by now.
 */
import { ledgerEntryOf } from '../../ledger/ledger-entry.js'
import type { LedgerStore } from '../../ledger/index.js'
import { bringsSameProof } from '../../ledger/purchase.js'
import { isReadable } from '../../shared/protocol/decoded-payment.js'
import type { Refusal } from '../../core/schemes/scheme.js'
import type { Exit } from './exits.js'
import { deliver, give, receiptFor, reopen, settle, undeliver } from './payment-attempt.js'
import type { PaymentAttempt, Reserved } from './payment-attempt.js'
import { chargeOf, withReceipt } from '../respond/stored-response.js'

/** Redeems such a payment for a response that was kept while the payment was pending. */
export async function redeemStored(attempt: Reserved, kept: string): Promise<Exit> {
  const { caller, keys } = attempt
  const settled = await settle(attempt, { charge: chargeOf(kept) })
  if (settled.kind !== 'settled') return settled
  // It stays where it is kept.
  if (caller.isGone) return reopen(settled)
  const stored = withReceipt(kept, receiptFor(settled))
  const delivered = await deliver(settled, stored)
  // Its payer has left meanwhile, and has no id to ask for it by.
  if (caller.isGone && !keys.id.hasKey) return undeliver(delivered)
  give(delivered, stored)
  return { kind: 'repeated', stored }
}

/**
 * Says what became of such a payment whose response is not stored.
 *
 * It is not reserved, because that could settle it for nothing. It stays as it is, and is good again as
 * soon as the price is what it was.
 */
export async function refuseUnstored(
  { ledger }: { readonly ledger: Pick<LedgerStore, 'payments'> },
  { payment, project }: PaymentAttempt,
): Promise<Refusal> {
  if (!isReadable(payment)) return { refused: 'invalid_payment_requirements' }
  const record = await ledger.payments.find(payment.key)
  switch (record?.state) {
    case 'reserved':
      return { refused: 'duplicate_settlement' }
    case 'submitted':
      return { refused: 'settlement_pending' }
    case 'settled': {
      const isOwn = bringsSameProof(record, ledgerEntryOf(payment, { project }))
      const settledBy = isOwn ? record.transaction : undefined
      return { refused: 'invalid_exact_evm_nonce_already_used', settledBy, isRepeat: true }
    }
    case 'failed':
    case undefined:
      return { refused: 'invalid_payment_requirements' }
  }
}
