/** Searches by what people see of a payment: its payer's address or reference, its amount and its token. */
import { amountOf } from '../../ledger/index.js'
import type { LedgerQuery, LedgerRecord, LedgerStore, RecordSearch } from '../../ledger/index.js'
import type { Asset } from '../../shared/money/assets.js'
import { ceilToUnits, powerOfTen, type Decimal } from '../../shared/money/decimal.js'
import { lowerHex } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { recordPages } from './record-pages.js'
import { tokenOf } from './settlement-document.js'

/** Payments that one request looks at, at most. The next page begins where it has stopped. */
const MAX_LOOKED_AT = 1000

const PAGE = 250

/** Filters of the API that have no index. */
export interface PriceFilters {
  /** A symbol, or an address. */
  readonly token?: string | undefined
  readonly minAmount?: Decimal | undefined
  readonly maxAmount?: Decimal | undefined
}

export type IsWanted = (record: LedgerRecord) => boolean

/** The beginning of an address, and perhaps its end, as lists show it: `0x12…ab`. */
const ADDRESS_PART = /^(0x[0-9a-f]{2,40})(?:(?:…|\.{2,3})((?:[0-9a-f]{2})*))?$/

/** Reads what a text searches for: a whole address, transaction or URL, or the beginning of an address or a reference. */
export function readSearch(text: string): RecordSearch {
  const digits = lowerHex(text)
  if (/^0x[0-9a-f]{40}$/.test(digits)) return { payer: digits }
  if (/^0x[0-9a-f]{64}$/.test(digits)) return { transaction: digits }
  if (/^https?:\/\//i.test(text)) return { resource: text }
  const [, payerStart, payerEnd = ''] = ADDRESS_PART.exec(digits) ?? []
  if (payerStart === undefined) return { referenceStart: text }
  return { payerStart: payerStart as Hex, payerEnd }
}

/** Tells which payments are of a token and amount. @returns `undefined` if any will do. */
export function pricedBy(
  { token, minAmount, maxAmount }: PriceFilters,
  accepts: readonly Asset[],
): IsWanted | undefined {
  if (token === undefined && minAmount === undefined && maxAmount === undefined) return undefined
  const name = token?.toLowerCase()
  return (record) => {
    const { symbol, decimals } = tokenOf(record, accepts)
    if (name !== undefined && name !== symbol?.toLowerCase() && name !== record.asset.toLowerCase())
      return false
    if (minAmount === undefined && maxAmount === undefined) return true
    if (decimals === undefined) return false
    const units = amountOf(record)
    return (
      (minAmount === undefined || units >= ceilToUnits(minAmount, decimals)) &&
      (maxAmount === undefined ||
        units * powerOfTen(maxAmount.scale) <= maxAmount.units * powerOfTen(decimals))
    )
  }
}

/** What was found, and where the search goes on if it stopped before the end. */
export interface Looked {
  readonly found: readonly LedgerRecord[]
  readonly end?: LedgerRecord | undefined
}

/**
 * Looks through a list for what is wanted, and leaves the rest to the next page.
 *
 * @param isWanted - `undefined` if all is.
 */
export async function lookThrough(
  ledger: Pick<LedgerStore, 'payments'>,
  query: LedgerQuery,
  isWanted: IsWanted | undefined,
): Promise<Looked> {
  if (isWanted === undefined) return { found: await ledger.payments.list(query) }
  const found: LedgerRecord[] = []
  let looked = 0
  for await (const page of recordPages(ledger, { ...query, limit: PAGE })) {
    found.push(...page.filter(isWanted))
    looked += page.length
    if (found.length >= query.limit) return { found: found.slice(0, query.limit) }
    if (looked >= MAX_LOOKED_AT) return { found, end: page.at(-1) }
  }
  return { found }
}
