/** Shared by the schemes: reservations of payments that are settled. */
import type { PaymentKey, LedgerEntry, LedgerStore } from '../ledger/index.js'
import { paymentFields } from '../ledger/payment-fields.js'
import type { Logger } from '../logger.js'
import type { Address, SettleResponse } from '../protocol/payment.js'
import type { Reservation } from './scheme.js'

/** A payment that is settled already, taken by a request that has locked its record. */
interface SettledPayment {
  readonly key: PaymentKey
  readonly payer: Address
  /** As {@link Reservation.lock}. */
  readonly lock: string | undefined
  readonly response: SettleResponse
}

/** Reserves a payment that is settled already: nothing is sent for it. */
export function settledReservation(
  { payments }: Pick<LedgerStore, 'payments'>,
  { key, payer, lock, response }: SettledPayment,
): Reservation {
  const reopen = () => payments.unlock(key, lock)
  return {
    payer,
    lock,
    settle: async () => response,
    release: reopen,
    markDelivered: () => payments.markDelivered(key, undefined, lock),
    reopen,
    undeliver: () => payments.undeliver(key, lock),
  }
}

/** Waits for a write to the ledger of what is decided already, and logs its failure. */
export async function logLedgerFailure(
  { logger, entry }: { readonly logger: Logger; readonly entry: LedgerEntry },
  written: Promise<unknown>,
): Promise<void> {
  await written.catch((error: unknown) =>
    logger.error('The ledger missed what became of a payment.', { ...paymentFields(entry), error }),
  )
}
