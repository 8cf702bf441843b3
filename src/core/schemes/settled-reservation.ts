/** Shared by the schemes: reservations of payments that are settled. */
import type { PaymentKey, LedgerEntry, LedgerStore } from '../../ledger/index.js'
import { paymentFields } from '../../ledger/payment-fields.js'
import type { Logger } from '../../shared/logger.js'
import type { Address, SettleResponse } from '../../shared/protocol/payment.js'
import { unsettledResponse } from '../../shared/protocol/reason-words.js'
import type { Reservation } from './scheme.js'

/** A payment that is settled already, taken by a request that has locked its record. */
interface SettledPayment {
  readonly key: PaymentKey
  readonly payer: Address
  /** As {@link Reservation.lock}. */
  readonly lock: string | undefined
  readonly response: SettleResponse
  /** The amount that its payer has signed. */
  readonly value: bigint
  /** What its record says was charged. */
  readonly charged: bigint
}

/** Why a payment does not settle for more than was signed, or was charged of it before. */
export const EXCEEDED = 'invalid_upto_evm_payload_settlement_exceeds_amount'

/** How much of a payment is taken. */
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

/** Says so, of a payment of which something was charged before. */
export function chargedBefore(charged: bigint | undefined): string | undefined {
  return charged === undefined
    ? undefined
    : `This payment was charged ${charged} units of the token before, for another answer. Ask for that one again, or sign another payment.`
}

/** Reserves a payment that is settled already: nothing is sent for it, and it buys nothing that costs more. */
export function settledReservation(
  { payments }: Pick<LedgerStore, 'payments'>,
  { key, payer, lock, response, value, charged }: SettledPayment,
): Reservation {
  const reopen = () => payments.unlock(key, lock)
  return {
    payer,
    lock,
    async settle(charge) {
      if (chargedOf({ value, before: charged, charge }) !== undefined) return response
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
