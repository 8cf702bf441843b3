import type { Merchant } from '../../src/merchants/project.js'
import { Quoter } from '../../src/merchants/quote.js'
import type { RateSource } from '../../src/money/rates.js'
import { exactFormat } from '../../src/schemes/evm/format.js'

/** A merchant's quoter for the scheme `exact`. */
export function exactQuoter(merchant: Merchant, rates: RateSource): Quoter {
  return new Quoter(merchant, rates, new Map([['exact', exactFormat]]))
}
