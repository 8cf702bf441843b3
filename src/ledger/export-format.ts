import { csvLine } from '../shared/csv.js'
import { findKnownAsset, type Asset } from '../shared/money/assets.js'
import { formatDecimal } from '../shared/money/decimal.js'
import { faceValueOf, type FaceValue } from '../shared/money/face-value.js'
import { sameHex } from '../shared/protocol/hex.js'
import { findNetwork } from '../shared/protocol/networks.js'
import type { Hex } from '../shared/protocol/payment.js'
import { chargedRate } from './charged-rate.js'
import { amountOf, type LedgerEntry, type LedgerRecord } from './record.js'
import { REMOTE_SUBMISSION, transactionOf } from './record-transaction.js'
import type { RefundRequest } from './refunds.js'
import { isoTime, type TimeZone } from './time-zone.js'

export type ExportFormat = 'csv' | 'jsonl'

export interface ExportedPayment extends LedgerEntry, Pick<LedgerRecord, 'id' | 'state'> {
  readonly transaction: Hex | undefined
  readonly reason: string | undefined
  readonly delivered: boolean
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
  /** Atomic units of a payment that were refunded. */
  readonly refunded?: bigint | undefined
  /** Who asked for a refund, and why, if that was noted. */
  readonly request?: RefundRequest | undefined
}

export function exportedOf(record: LedgerRecord): ExportedPayment {
  const reason = record.state === 'failed' ? record.reason : undefined
  return { ...record, transaction: transactionOf(record), reason }
}

/** What is known of the refunds of a page of records, by the ids of payments and of refunds. */
export interface ExportedRefunds {
  readonly refunded: ReadonlyMap<string, bigint>
  readonly requests: ReadonlyMap<string, RefundRequest>
}

export function withRefunds(
  payment: ExportedPayment,
  { refunded, requests }: ExportedRefunds,
): ExportedPayment {
  return { ...payment, refunded: refunded.get(payment.id), request: requests.get(payment.id) }
}

/** Unix seconds beyond which a time has no ISO 8601 form. */
const LAST_SECOND = 8_640_000_000_000n

/** The columns of an export, in order. `undefined` is an empty field in CSV, and absent in JSON. */
const COLUMNS = {
  id: ({ id }) => id,
  status: ({ state }) => (state === 'submitted' ? 'pending' : state),
  createdAt: ({ createdAt }, { zone }) => isoTime(createdAt, zone),
  updatedAt: ({ updatedAt }, { zone }) => isoTime(updatedAt, zone),
  project: ({ project }) => project,
  network: ({ chainId }) => `eip155:${chainId}`,
  testnet: ({ chainId }) => findNetwork(`eip155:${chainId}`)?.testnet || undefined,
  asset: ({ asset }) => asset,
  symbol: (_, { asset }) => asset?.symbol,
  decimals: decimalsOf,
  units: (payment) => amountOf(payment).toString(),
  amount: (payment, context) => inTokens(amountOf(payment), payment, context),
  refunded: (payment, context) =>
    payment.refunded === undefined ? undefined : inTokens(payment.refunded, payment, context),
  net: (payment, context) => inTokens(netOf(payment), payment, context),
  payer: ({ from }) => from,
  payTo: ({ payTo }) => payTo,
  nonce: ({ nonce }) => nonce,
  validBefore: ({ validBefore }, { zone }) =>
    validBefore <= LAST_SECOND ? isoTime(Number(validBefore) * 1000, zone) : undefined,
  transaction: ({ transaction }) =>
    transaction === REMOTE_SUBMISSION.transaction ? undefined : transaction,
  delivered: ({ delivered }) => delivered,
  errorReason: ({ reason, state }) => (state === 'failed' ? reason : undefined),
  price: (payment, { asset }) => priceOf(payment, asset)?.price,
  currency: (payment, { asset }) => priceOf(payment, asset)?.currency,
  rate: ({ appliedRate }) => appliedRate?.rate,
  rateAt: ({ appliedRate }, { zone }) => appliedRate && isoTime(appliedRate.asOf * 1000, zone),
  rateSource: ({ appliedRate }) => appliedRate?.source,
  resource: ({ details }) => details?.resource,
  method: ({ details }) => details?.method,
  route: ({ details }) => details?.route,
  askedPrice: ({ details }) => details?.askedPrice,
  reference: ({ details }) => details?.reference,
  type: ({ refundOf }) => (refundOf === undefined ? 'payment' : 'refund'),
  refundOf: ({ refundOf }) => refundOf,
  refundReason: ({ request }) => request?.reason,
} satisfies Readonly<
  Record<
    string,
    (payment: ExportedPayment, context: RowContext) => string | number | boolean | undefined
  >
>

interface RowContext {
  readonly asset: Asset | undefined
  readonly zone: TimeZone | undefined
}

/** What a record moved to the merchant: below zero for a refund. The sum of a token is what is left. */
function netOf(payment: ExportedPayment): bigint {
  if (payment.state !== 'settled') return 0n
  return payment.refundOf === undefined ? amountOf(payment) : -payment.value
}

/** The price of a payment: by its rate, or by the peg of its token. */
export function priceOf(payment: ExportedPayment, asset: Asset | undefined): FaceValue | undefined {
  if (payment.refundOf !== undefined) return undefined
  return chargedRate(payment) ?? (asset && faceValueOf(amountOf(payment), asset))
}

function inTokens(
  units: bigint,
  payment: ExportedPayment,
  context: RowContext,
): string | undefined {
  const scale = decimalsOf(payment, context)
  if (scale === undefined) return undefined
  const amount = formatDecimal({ units: units < 0n ? -units : units, scale })
  return units < 0n ? `-${amount}` : amount
}

/**
 * Returns the writer of a format: the head of the file, and one line for each payment.
 *
 * @param assets - Tokens of the configuration. Those of our own table are known without it.
 * @param zone - Zone of the times. Default: UTC.
 */
export function exportWriter(format: ExportFormat, assets: readonly Asset[], zone?: TimeZone) {
  const columns = Object.entries(COLUMNS)
  const rowOf = (payment: ExportedPayment) => {
    const context = { asset: findAsset(payment, assets), zone }
    return columns.map(([name, read]) => [name, read(payment, context)] as const)
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

/** Finds the token of a payment: among `assets`, else among the known ones. */
export function findAsset(
  { chainId, asset }: Pick<LedgerEntry, 'chainId' | 'asset'>,
  assets: readonly Asset[],
): Asset | undefined {
  const network = findNetwork(`eip155:${chainId}`)
  return (
    assets.find((one) => one.network.chainId === chainId && sameHex(one.address, asset)) ??
    (network && findKnownAsset(network, asset))
  )
}

/** The decimals that were recorded with the payment take precedence over those of today's configuration. */
export function decimalsOf(
  { details }: ExportedPayment,
  { asset }: Pick<RowContext, 'asset'>,
): number | undefined {
  return details?.decimals ?? asset?.decimals
}
