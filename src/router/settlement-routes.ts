import express, { type Request, type Router } from 'express'
import { z } from 'zod'
import { checksumAddress } from '../crypto/checksum-address.js'
import { REMOTE_SUBMISSION, transactionOf } from '../ledger/record-transaction.js'
import type { LedgerStore, LedgerQuery, LedgerRecord } from '../ledger/ledger.js'
import type { Merchant } from '../merchants/project.js'
import { findKnownAsset } from '../money/assets.js'
import type { AppliedRate } from '../money/rates.js'
import { findNetwork, formatNetwork, type NetworkNameStyle } from '../protocol/networks.js'
import type { Address, Hex } from '../protocol/payment.js'
import { SETTLEMENTS_QUERY } from '../protocol/tolerated-members.js'
import type { Reason } from '../protocol/reasons.js'
import { respondJson } from '../http/respond-json.js'
import { merchantOf } from './authenticate.js'
import { RequestProblem } from '../http/respond-problem.js'
import { readQuery, takesNoQuery } from './read-query.js'

/** What the settlement endpoints need from the gateway. */
export interface SettlementRoutesContext {
  readonly ledger: LedgerStore
  readonly networkNames: NetworkNameStyle
}

/** The status of a settlement, in the words of the API. */
type SettlementStatus = (typeof STATUSES)[number]

/** What a merchant needs to book a payment, and to reconcile it with the chain. */
interface Settlement {
  readonly id: string
  readonly status: SettlementStatus
  readonly network: string
  readonly asset: Address
  /** The asset's symbol, if the asset is known to this gateway. */
  readonly symbol?: string
  /** In the token's atomic units, a decimal string. */
  readonly amount: string
  readonly payer: Address
  readonly payTo: Address
  /** The authorization's nonce. With payer and asset, it identifies the payment on chain. */
  readonly nonce: Hex
  /** Hash of the transaction, once there is one. */
  readonly transaction?: Hex
  /** Why it failed. */
  readonly errorReason?: Reason
  /** How the amount came about, if a rate was applied; `asOf` in ISO 8601. */
  readonly quote?: Omit<AppliedRate, 'asOf'> & { readonly asOf: string }
  /** ISO 8601. */
  readonly createdAt: string
  readonly updatedAt: string
}

/**
 * `reserved`: taken for one request, nothing was sent. `pending`: a transaction was sent. `settled`:
 * the merchant was paid. `failed`: the transaction was mined, and did not pay the merchant.
 */
const STATUSES = ['reserved', 'pending', 'settled', 'failed'] as const

/** Number of settlements on a page. */
const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

const NOT_A_TIME = 'must be a time, like 2026-01-31T00:00:00Z'

const timeSchema = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], NOT_A_TIME)
  .transform((text) => Date.parse(text))

const NOT_A_LIMIT = `must be an integer from 1 to ${MAX_LIMIT}`

const limitSchema = z
  .string(NOT_A_LIMIT)
  .regex(/^\d{1,3}$/, NOT_A_LIMIT)
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, NOT_A_LIMIT)

/** The form of a record id. The ledger is queried only for such ids. */
const ID = /^[0-9a-f]{32}$/

/** A cursor: creation time and id of the last record of a page, which the page itself shows. */
const CURSOR = /^(\d{1,16})\.([0-9a-f]{32})$/

const cursorSchema = z.string().transform((text, context) => {
  const match = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (match !== null) return { createdAt: Number(match[1]), id: match[2] ?? '' }
  context.addIssue('must be the nextCursor of a page before')
  return z.NEVER
})

const querySchema = z.object({
  cursor: cursorSchema.optional(),
  limit: limitSchema.optional(),
  status: z.enum(STATUSES).optional(),
  from: timeSchema.optional(),
  to: timeSchema.optional(),
})

/** `/api/v2/merchant/settlements`: what became of the project's payments. */
export function settlementRoutes({ ledger, networkNames }: SettlementRoutesContext): Router {
  const router = express.Router()

  router.get(
    '/',
    respondJson(async (req, res) => {
      const merchant = merchantOf(res)
      const query = searchOf(req, merchant)
      // One more than requested shows whether there is another page.
      const records = await ledger.list({ ...query, limit: query.limit + 1 })
      const page = records.slice(0, query.limit)
      const last = page.at(-1)
      return {
        settlements: page.map((record) => settlementOf(record, merchant, networkNames)),
        ...(records.length > page.length && last && { nextCursor: cursorOf(last) }),
      }
    }),
  )
  router.get(
    '/:id',
    takesNoQuery,
    respondJson(async (req, res) => {
      const merchant = merchantOf(res)
      const id = String(req.params['id'])
      const [record] = ID.test(id)
        ? await ledger.list({ project: merchant.project, id, limit: 1 })
        : []
      if (record !== undefined) return settlementOf(record, merchant, networkNames)
      throw new RequestProblem('not_found', 'This project has no settlement of that id.')
    }),
  )
  return router
}

function searchOf(req: Request, { project }: Merchant): LedgerQuery {
  const {
    cursor,
    limit = DEFAULT_LIMIT,
    status,
    from,
    to,
  } = readQuery(req, querySchema, SETTLEMENTS_QUERY)
  const state = status === 'pending' ? 'submitted' : status
  return { project, state, from, until: to, after: cursor, limit }
}

function cursorOf({ createdAt, id }: LedgerRecord): string {
  return Buffer.from(`${createdAt}.${id}`, 'latin1').toString('base64url')
}

function settlementOf(
  record: LedgerRecord,
  { accepts }: Merchant,
  networkNames: NetworkNameStyle,
): Settlement {
  const { id, asset, from, payTo, nonce, value } = record
  const transaction = transactionOf(record)
  const caip2 = `eip155:${record.chainId}` as const
  const network = findNetwork(caip2)
  const known =
    accepts.find((one) => one.network.caip2 === caip2 && isSame(one.address, asset)) ??
    (network && findKnownAsset(network, asset))
  return {
    id,
    status: record.state === 'submitted' ? 'pending' : record.state,
    network: network ? formatNetwork(network, networkNames) : caip2,
    asset: checksumAddress(asset),
    ...(known && { symbol: known.symbol }),
    amount: value.toString(),
    payer: checksumAddress(from),
    payTo: checksumAddress(payTo),
    nonce,
    ...(transaction !== undefined &&
      transaction !== REMOTE_SUBMISSION.transaction && { transaction }),
    ...(record.state === 'failed' && { errorReason: record.reason }),
    ...(record.appliedRate && {
      quote: {
        ...record.appliedRate,
        asOf: new Date(record.appliedRate.asOf * 1000).toISOString(),
      },
    }),
    createdAt: new Date(record.createdAt).toISOString(),
    updatedAt: new Date(record.updatedAt).toISOString(),
  }
}

function isSame(one: Address, other: Address): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
