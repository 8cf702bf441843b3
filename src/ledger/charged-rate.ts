import { partOfPrice } from '../shared/money/face-value.js'
import type { AppliedRate } from '../shared/money/rates.js'
import { amountOf, type LedgerEntry } from './record.js'

/** The rate of a payment. Where it took less than was signed, `price` is the part that it took. */
export function chargedRate(entry: LedgerEntry): AppliedRate | undefined {
  const { appliedRate, value: whole } = entry
  const part = amountOf(entry)
  if (appliedRate === undefined || part === whole) return appliedRate
  return { ...appliedRate, price: partOfPrice(appliedRate, { part, whole }) }
}

/** The price of a payment as it was asked; where it took less than was signed, the part that it took. */
export function chargedPrice(entry: LedgerEntry): string | undefined {
  const { value: whole, details } = entry
  const part = amountOf(entry)
  if (part === whole) return details?.askedPrice
  return details?.askedPrice?.replace(/\d+(?:\.\d+)?/, (price) =>
    partOfPrice({ price, currency: '' }, { part, whole }),
  )
}
