import type { LedgerRecord, LedgerStore } from '../../ledger/index.js'

export interface RefundTotals {
  /** Atomic units that were refunded, if any. */
  readonly refunded?: string
  readonly refunds: number
}

/** Sums the refunds of settlements, by the ids of those that have any. */
export async function refundTotals(
  ledger: Pick<LedgerStore, 'refunds'>,
  records: readonly LedgerRecord[],
): Promise<ReadonlyMap<string, RefundTotals>> {
  const settled = records.filter(({ state }) => state === 'settled').map(({ id }) => id)
  const all = await ledger.refunds.refundsOf(settled)
  return new Map(
    [...new Set(all.map(({ refundOf }) => refundOf))].map((id) => {
      const refunds = all.filter(({ refundOf }) => refundOf === id)
      const paid = refunds.filter(({ state }) => state === 'settled')
      const sum = paid.reduce((total, { value }) => total + value, 0n)
      return [id, { ...(sum > 0n && { refunded: sum.toString() }), refunds: refunds.length }]
    }),
  )
}
