import { partOfPrice } from '../money/face-value.js'
import type { AppliedRate } from '../money/rates.js'
import { amountOf, type LedgerEntry } from './record.js'

/** The rate of a payment. Where it took less than was signed, `price` is the part that it took. */
export function chargedRate(entry: LedgerEntry): AppliedRate | undefined {
  const { appliedRate, charged, value } = entry
  if (appliedRate === undefined || charged === undefined) return appliedRate
  return {
    ...appliedRate,
    price: partOfPrice(appliedRate, { part: amountOf(entry), whole: value }),
  }
}
