import { findKnownAsset, type Asset } from '../money/assets.js'
import { formatDecimal } from '../money/decimal.js'
import { findNetwork } from '../protocol/networks.js'
import type { Hex } from '../protocol/payment.js'
import type { LedgerEntry, LedgerRecord } from './record.js'
import { REMOTE_SUBMISSION, transactionOf } from './record-transaction.js'

/** The format of an export. */
export type ExportFormat = 'csv' | 'jsonl'

/** A payment, as it is exported. */
export interface ExportedPayment extends LedgerEntry, Pick<LedgerRecord, 'id' | 'state'> {
  readonly transaction: Hex | undefined
  readonly reason: string | undefined
  readonly delivered: boolean
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** A record, as it is exported. */
export function exportedOf(record: LedgerRecord): ExportedPayment {
  const reason = record.state === 'failed' ? record.reason : undefined
  return { ...record, transaction: transactionOf(record), reason }
}

/** Unix seconds beyond which a time has no ISO 8601 form. */
const LAST_SECOND = 8_640_000_000_000n

/** The columns of an export, in order. `undefined` is an empty field in CSV, and absent in JSON. */
const COLUMNS = {
  id: ({ id }) => id,
  status: ({ state }) => (state === 'submitted' ? 'pending' : state),
  createdAt: ({ createdAt }) => isoTime(createdAt),
  updatedAt: ({ updatedAt }) => isoTime(updatedAt),
  project: ({ project }) => project,
  network: ({ chainId }) => `eip155:${chainId}`,
  asset: ({ asset }) => asset,
  symbol: (_, asset) => asset?.symbol,
  decimals: decimalsOf,
  units: ({ value }) => value.toString(),
  amount: (payment, asset) => {
    const scale = decimalsOf(payment, asset)
    return scale === undefined ? undefined : formatDecimal({ units: payment.value, scale })
  },
  payer: ({ from }) => from,
  payTo: ({ payTo }) => payTo,
  nonce: ({ nonce }) => nonce,
  validBefore: ({ validBefore }) =>
    validBefore <= LAST_SECOND ? isoTime(Number(validBefore) * 1000) : undefined,
  transaction: ({ transaction }) =>
    transaction === REMOTE_SUBMISSION.transaction ? undefined : transaction,
  delivered: ({ delivered }) => delivered,
  errorReason: ({ reason, state }) => (state === 'failed' ? reason : undefined),
  price: ({ appliedRate }) => appliedRate?.price,
  currency: ({ appliedRate }) => appliedRate?.currency,
  rate: ({ appliedRate }) => appliedRate?.rate,
  rateAt: ({ appliedRate }) => appliedRate && isoTime(appliedRate.asOf * 1000),
  rateSource: ({ appliedRate }) => appliedRate?.source,
  resource: ({ details }) => details?.resource,
  method: ({ details }) => details?.method,
  route: ({ details }) => details?.route,
  askedPrice: ({ details }) => details?.askedPrice,
  reference: ({ details }) => details?.reference,
  type: ({ refundOf }) => (refundOf === undefined ? 'payment' : 'refund'),
  refundOf: ({ refundOf }) => refundOf,
} satisfies Readonly<
  Record<
    string,
    (payment: ExportedPayment, asset: Asset | undefined) => string | number | boolean | undefined
  >
>

/**
 * Returns the writer of a format: the head of the file, and one line for each payment.
 *
 * @param assets - Tokens of the configuration. Those of our own table are known without it.
 */
export function exportWriter(format: ExportFormat, assets: readonly Asset[]) {
  const columns = Object.entries(COLUMNS)
  const rowOf = (payment: ExportedPayment) => {
    const asset = findAsset(payment, assets)
    return columns.map(([name, read]) => [name, read(payment, asset)] as const)
  }
  if (format === 'jsonl')
    return {
      head: '',
      line: (payment: ExportedPayment) => `${JSON.stringify(Object.fromEntries(rowOf(payment)))}\n`,
    }
  return {
    head: csvLine(Object.keys(COLUMNS)),
    line: (payment: ExportedPayment) => csvLine(rowOf(payment).map(([, value]) => value)),
  }
}

function findAsset(
  { chainId, asset: address }: ExportedPayment,
  assets: readonly Asset[],
): Asset | undefined {
  const network = findNetwork(`eip155:${chainId}`)
  return (
    assets.find(
      (one) =>
        one.network.chainId === chainId && one.address.toLowerCase() === address.toLowerCase(),
    ) ??
    (network && findKnownAsset(network, address))
  )
}

/** The decimals that were recorded with the payment take precedence over those of today's configuration. */
function decimalsOf({ details }: ExportedPayment, asset: Asset | undefined): number | undefined {
  return details?.decimals ?? asset?.decimals
}

/** A line by RFC 4180. */
function csvLine(values: ReadonlyArray<string | number | boolean | undefined>): string {
  return `${values.map((value) => csvField(String(value ?? ''))).join(',')}\r\n`
}

/**
 * Where a spreadsheet would begin to compute: before `=`, `+`, `-` and `@`, their wide forms, tab, return and
 * line feed. A field begins at its start and, for a spreadsheet that splits at semicolons or tabs, behind each
 * of them.
 */
const FORMULA = /(^|[;\t])(?=\s*[=+\-@\t\r\n＝＋－＠])/gu

/** A field. A quote before what looks like a formula keeps spreadsheets from computing it. */
function csvField(text: string): string {
  const safe = text.replaceAll(FORMULA, "$1'")
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
