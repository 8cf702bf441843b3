import type { Merchant } from '../../src/core/merchants/project.js'
import { Quoter } from '../../src/core/quotes/quote.js'
import type { RateSource } from '../../src/shared/money/rates.js'
import { exactFormat } from './exact-format.js'

/** A merchant's quoter for the scheme `exact`. */
export function exactQuoter(merchant: Merchant, rates: RateSource): Quoter {
  return new Quoter(merchant, rates, new Map([['exact', exactFormat]]))
}
