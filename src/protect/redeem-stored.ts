import type { LedgerStore } from '../ledger/ledger.js'
import { refusalResponse, type Refusal } from '../schemes/scheme.js'
import type { Exit } from './exits.js'
import { endUnsettled, markDelivered, type ReservedAttempt } from './payment-attempt.js'
import { withSettlement } from './stored-response.js'

/** What {@link redeemStored} needs from the gateway. */
interface RedeemContext {
  readonly ledger: Pick<LedgerStore, 'find'>
}

/**
 * Redeems a payment that was taken at an earlier price, for the response that was made for it then.
 *
 * No handler runs: what it gives may have another price by now. Without a response, the payment stays
 * open, and is good again as soon as the price is what it was.
 */
export async function redeemStored(
  context: RedeemContext,
  attempt: ReservedAttempt,
): Promise<Exit> {
  const { claim, reservation, payment } = attempt
  if (claim.kept === undefined) {
    await reservation.reopen()
    const refusal = await refusalOf(context, attempt)
    return endUnsettled(attempt, refusalResponse(refusal, payment.requirements.network))
  }
  const settlement = await reservation.settle()
  if (!settlement.success) return endUnsettled(attempt, settlement)
  const stored = withSettlement(claim.kept, settlement)
  await claim.keep(stored)
  await markDelivered(attempt)
  await claim.finish(stored)
  return { kind: 'repeated', stored }
}

/** Tells the buyer what became of a payment whose response is not there, and that no other is to be signed. */
async function refusalOf(
  { ledger }: RedeemContext,
  { payment, reservation: { payer } }: ReservedAttempt,
): Promise<Refusal> {
  const record = payment.key && (await ledger.find(payment.key))
  return record?.state === 'settled'
    ? { refused: 'invalid_exact_evm_nonce_already_used', payer, settledBy: record.transaction }
    : { refused: 'settlement_pending', payer }
}
