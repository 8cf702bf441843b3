import { partOfPrice } from '../money/face-value.js'
import type { AppliedRate } from '../money/rates.js'
import { amountOf, type LedgerEntry } from './record.js'

/** The rate of a payment. Where it took less than was signed, `price` is the part that it took. */
export function chargedRate(entry: LedgerEntry): AppliedRate | undefined {
  const { appliedRate, value: whole } = entry
  const part = amountOf(entry)
  if (appliedRate === undefined || part === whole) return appliedRate
  return { ...appliedRate, price: partOfPrice(appliedRate, { part, whole }) }
}
