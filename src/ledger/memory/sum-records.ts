import { EVERY_PROJECT } from '../record.js'
import { RevenueSums, revenueKeyOf, type RevenueGroup, type RevenueQuery } from '../revenue.js'
import type { PaymentRecords } from './payment-records.js'

/** Sums the settled payments that are still kept in full. */
export async function sumRecords(
  { records }: PaymentRecords,
  { project, from, until, by }: RevenueQuery,
): Promise<readonly RevenueGroup[]> {
  const sums = new RevenueSums()
  for (const one of project === EVERY_PROJECT ? records.projects() : [project])
    for await (const record of records.ofProject(one, from, until)) {
      if (record.state !== 'settled' || record.refundOf !== undefined) continue
      const { chainId, asset, value } = record
      sums.add({ key: revenueKeyOf(record, by), chainId, asset, amount: value, count: 1 })
    }
  return sums.groups()
}
