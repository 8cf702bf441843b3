/** A settlement, as the API shows it. */
import { findAsset } from '../../ledger/export-format.js'
import { isoTime } from '../../ledger/time-zone.js'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { REMOTE_SUBMISSION, transactionOf } from '../../ledger/record-transaction.js'
import { chargedPrice, chargedRate } from '../../ledger/charged-rate.js'
import { amountOf, type LedgerRecord } from '../../ledger/index.js'
import { heldUntil, isRefundRecord } from '../../ledger/refunds.js'
import type { RefundRecord, RefundRequest } from '../../ledger/refunds.js'
import type { Merchant } from '../../core/merchants/project.js'
import type { Asset } from '../../shared/money/assets.js'
import {
  findNetwork,
  formatNetwork,
  type NetworkNameStyle,
} from '../../shared/protocol/networks.js'
import type { MadeDocument } from '../documents/component.js'
import type { refund, settlement } from '../documents/settlement.js'

/**
 * Describes a payment so that its merchant can book it and reconcile it with the chain.
 *
 * `amount` is in the token's atomic units: what was taken, of at most `maximum`. Payer, asset and `nonce` identify the
 * payment on chain. `symbol` is there for tokens that this gateway knows, `transaction` once there is one, `quote` if a
 * rate was applied, and the details of the payment as far as the record has them. Times are in ISO 8601.
 */
export function settlementOf(
  record: LedgerRecord,
  { accepts }: Pick<Merchant, 'accepts'>,
  networkNames: NetworkNameStyle,
): MadeDocument<typeof settlement> {
  const { id, asset, from, payTo, nonce, value, charged, details = {} } = record
  const rate = chargedRate(record)
  const { decimals: _recorded, ...about } = details
  const transaction = transactionOf(record)
  const isKnown = transaction !== undefined && transaction !== REMOTE_SUBMISSION.transaction
  const caip2 = `eip155:${record.chainId}` as const
  const network = findNetwork(caip2)
  const { symbol, decimals } = tokenOf(record, accepts)
  return {
    id,
    status: record.state === 'submitted' ? 'pending' : record.state,
    network: network ? formatNetwork(network, networkNames) : caip2,
    ...(network?.testnet && { testnet: true as const }),
    asset: checksumAddress(asset),
    ...(symbol !== undefined && { symbol }),
    ...(decimals !== undefined && { decimals }),
    amount: amountOf(record).toString(),
    ...(charged !== undefined && { maximum: value.toString() }),
    payer: checksumAddress(from),
    payTo: checksumAddress(payTo),
    nonce,
    ...(isKnown && { transaction }),
    ...(isUndelivered(record) && { delivered: false as const }),
    ...(record.state === 'failed' && { errorReason: record.reason }),
    ...about,
    ...(rate && { quote: { ...rate, asOf: isoTime(rate.asOf * 1000) } }),
    createdAt: isoTime(record.createdAt),
    updatedAt: isoTime(record.updatedAt),
  }
}

const isUndelivered = ({ state, locked, charged, refundOf }: LedgerRecord): boolean =>
  state === 'settled' && !locked && charged !== 0n && refundOf === undefined

/** What is known of the token of a record. */
export function tokenOf(
  record: LedgerRecord,
  accepts: readonly Asset[],
): Partial<Pick<Asset, 'symbol' | 'decimals'>> {
  const known = findAsset(record, accepts)
  const decimals = record.details?.decimals ?? known?.decimals
  return { ...(known && { symbol: known.symbol }), ...(decimals !== undefined && { decimals }) }
}

/**
 * A refund: a settlement from the merchant to the buyer.
 *
 * @param request - Who asked for it, and why, if that is known.
 */
export function refundDocument(
  { networkNames }: { readonly networkNames: NetworkNameStyle },
  { accepts, record, request }: RefundView,
): MadeDocument<typeof refund> {
  const { status, ...document } = settlementOf(record, { accepts }, networkNames)
  const held = record.state === 'failed' && new Date(Number(heldUntil(record)) * 1000).toISOString()
  return {
    ...document,
    status: status === 'reserved' ? 'pending' : status,
    settlement: record.refundOf,
    ...request,
    ...(held && { heldUntil: held }),
  }
}

interface RefundView extends Pick<Merchant, 'accepts'> {
  readonly record: RefundRecord
  readonly request?: RefundRequest | undefined
}

/**
 * Makes a function that describes payments and refunds of any project as the API shows them, with what events
 * call `payment` and `price`.
 */
export function settlementDescriber(
  findMerchant: (project: string) => Pick<Merchant, 'accepts'> | undefined,
  networkNames: NetworkNameStyle,
): (record: LedgerRecord) => object {
  return (record) => {
    const { accepts } = findMerchant(record.project ?? '') ?? { accepts: [] }
    const described = isRefundRecord(record)
      ? refundDocument({ networkNames }, { accepts, record })
      : settlementOf(record, { accepts }, networkNames)
    const price = chargedPrice(record)
    return { ...described, payment: record.refundOf ?? record.id, ...(price && { price }) }
  }
}
