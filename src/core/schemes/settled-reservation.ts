/** Shared by the schemes: reservations of payments that are settled. */
import { amountOf } from '../../ledger/index.js'
import type { LedgerEntry, LedgerRecord, LedgerStore } from '../../ledger/index.js'
import { paymentFields } from '../../ledger/payment-fields.js'
import type { Logger } from '../../shared/logger.js'
import type { SettleResponse } from '../../shared/protocol/payment.js'
import { unsettledResponse } from '../../shared/protocol/reason-words.js'
import type { Reservation } from './scheme.js'

/** Why a payment does not settle for more than was signed, or was charged of it before. */
export const EXCEEDED = 'invalid_upto_evm_payload_settlement_exceeds_amount'

interface Charging {
  /** What the payer has signed. */
  readonly value: bigint
  /** What an earlier transaction was to take: it may still be mined, and whatever is sent now takes the same. */
  readonly before: bigint | undefined
  /** What is asked for now. @defaultValue the value */
  readonly charge: { readonly amount: bigint } | undefined
}

/** @returns What is taken; `undefined` where more was asked for than may be. */
export function chargedOf({ value, before, charge }: Charging): bigint | undefined {
  const asked = charge?.amount ?? value
  return asked > (before ?? value) ? undefined : (before ?? asked)
}

export function chargedBefore(charged: bigint | undefined): string | undefined {
  return charged === undefined
    ? undefined
    : `This payment was charged ${charged} units of the token before, for another answer. Ask for that one again, or sign another payment.`
}

/**
 * Reserves a payment that is settled already: nothing is sent for it, and it buys nothing that costs more.
 *
 * @param record - Locked by the request that takes it.
 */
export function settledReservation(
  { payments }: Pick<LedgerStore, 'payments'>,
  record: LedgerRecord,
  { payer, lock, response }: Pick<Reservation, 'payer' | 'lock'> & { response: SettleResponse },
): Reservation {
  const charged = amountOf(record)
  const reopen = () => payments.unlock(record, lock)
  return {
    payer,
    lock,
    async settle(charge) {
      if (chargedOf({ value: record.value, before: charged, charge }) !== undefined) return response
      await reopen()
      const { network } = response
      return unsettledResponse({
        reason: EXCEEDED,
        message: chargedBefore(charged),
        network,
        payer,
      })
    },
    release: reopen,
    markDelivered: () => payments.markDelivered(record, undefined, lock),
    reopen,
    undeliver: () => payments.undeliver(record, lock),
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
