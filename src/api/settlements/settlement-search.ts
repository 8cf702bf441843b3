/** Searches by what people see of a payment: a part of its payer's address or reference, its amount and its token. */
import { amountOf } from '../../ledger/index.js'
import type { LedgerQuery, LedgerRecord, LedgerStore, RecordSearch } from '../../ledger/index.js'
import { isReference } from '../../ledger/payment-details.js'
import type { Asset } from '../../shared/money/assets.js'
import { ceilToUnits, powerOfTen, type Decimal } from '../../shared/money/decimal.js'
import { lowerHex } from '../../shared/protocol/hex.js'
import { recordPages } from './record-pages.js'
import { tokenOf } from './settlement-document.js'

/** Payments that one request looks at, at most. The next page begins where it has stopped. */
const MAX_LOOKED_AT = 1000

const PAGE = 250

/** Filters of the API that no index answers alone. */
export interface PartialFilters {
  readonly search?: string | undefined
  /** A symbol, or an address. */
  readonly token?: string | undefined
  readonly minAmount?: Decimal | undefined
  readonly maxAmount?: Decimal | undefined
}

type IsWanted = (record: LedgerRecord) => boolean

/** What the ledger is asked for, and which of that is wanted. */
export interface FoundBy {
  readonly search?: RecordSearch | undefined
  /** `undefined` if all is. */
  readonly isWanted?: IsWanted | undefined
}

/** Reads a text that is a whole address, transaction or URL. */
function wholeSearch(text: string): RecordSearch | undefined {
  if (/^0x[0-9a-f]{40}$/i.test(text)) return { payer: lowerHex(text) }
  if (/^0x[0-9a-f]{64}$/i.test(text)) return { transaction: lowerHex(text) }
  return /^https?:\/\//i.test(text) ? { resource: text } : undefined
}

/** The two ends of an address, as lists show it: `0x12…ab`. */
const ADDRESS_PART = /^(?=0x|…|\.\.)(0x[0-9a-f]{0,40})?(?:(?:…|\.{2,3})([0-9a-f]{0,40}))?$/

/** Digits that may be either end of an address: fewer would match too many. */
const END_OF_ADDRESS = /^[0-9a-f]{4,40}$/

/** Tells the ledger's part of a search, which has an index, from the part that is looked through. */
export async function findBy(
  { payments }: Pick<LedgerStore, 'payments'>,
  {
    project,
    accepts,
  }: { readonly project: LedgerQuery['project']; readonly accepts: readonly Asset[] },
  { search: text, ...filters }: PartialFilters,
): Promise<FoundBy> {
  const isPriced = pricedBy(filters, accepts)
  if (text === undefined) return { isWanted: isPriced }
  const whole = wholeSearch(text)
  if (whole !== undefined) return { search: whole, isWanted: isPriced }
  const wanted = text.toLowerCase()
  const both =
    (is: IsWanted): IsWanted =>
    (record) =>
      is(record) && (isPriced?.(record) ?? true)
  const ends = ADDRESS_PART.exec(wanted)
  if (ends !== null) {
    const [, start = '0x', end = ''] = ends
    const search = { payerStart: start as `0x${string}` }
    const isFew = start.length > 2 && (await payments.isFew(search, project))
    return {
      ...(isFew && { search }),
      isWanted: both(({ from }) => from.startsWith(start) && from.endsWith(end)),
    }
  }
  const reference = { reference: text }
  if (
    isReference(text) &&
    (await payments.list({ project, search: reference, limit: 1 })).length > 0
  )
    return { search: reference, isWanted: isPriced }
  const isEnd = END_OF_ADDRESS.test(wanted)
  return {
    isWanted: both(
      ({ details, from }) =>
        details?.reference?.toLowerCase().includes(wanted) === true ||
        (isEnd && (from.endsWith(wanted) || from.startsWith(`0x${wanted}`))),
    ),
  }
}

/** @returns `undefined` if any token and amount will do. */
function pricedBy(
  { token, minAmount, maxAmount }: PartialFilters,
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
