import { randomBytes } from 'node:crypto'
import express, { type Router } from 'express'
import { z } from 'zod'
import { checksumAddress } from '../crypto/checksum-address.js'
import { respondJson } from '../http/respond-json.js'
import { RequestProblem } from '../http/respond-problem.js'
import { AUTHORIZATION_TYPES } from '../protocol/authorization.js'
import { parseUint256 } from '../protocol/primitives.js'
import { REFUND_QUERY } from '../protocol/strict-document.js'
import { payeeOf } from './acting.js'
import type { Endpoint, RouterContext } from './context.js'
import type { Endpoints } from './endpoints.js'
import { jsonBody } from './json-body.js'
import { readQuery, takesNoQuery } from './read-query.js'
import { refundPayment } from './refund-payment.js'
import {
  exceedsPayment,
  findRefundable,
  leftOf,
  nowSeconds,
  requireLocal,
  type Refundable,
} from './refundable.js'
import { refundDocument } from './settlement-document.js'
import { findRecord } from './settlement-routes.js'

/** Seconds in which a merchant signs a prepared refund, and it is mined. */
const VALIDITY_SECONDS = 600n

/** What is signed, as EIP-712 describes it: what `eth_signTypedData_v4` takes. */
const TYPES = {
  EIP712Domain: [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ],
  ...AUTHORIZATION_TYPES,
} as const

/** Reads the query of `…/refunds/prepare`. */
export const preparationSchema = z.object({
  amount: z
    .string()
    .refine((text) => (parseUint256(text) ?? 0n) > 0n, {
      error: 'must be atomic units of the token: a positive integer, e.g. 250000 for 0.25 USDC',
    })
    .transform(BigInt)
    .optional(),
})

/** The endpoints of {@link refundRoutes}. */
export function refundEndpoints(settlement: string): Endpoints {
  return {
    [`${settlement}/refunds`]: ['GET', 'POST'],
    [`${settlement}/refunds/prepare`]: ['GET'],
    [`${settlement}/refunds/{refundId}`]: ['GET'],
  }
}

/** `…/settlements/{id}/refunds`: pays settlements back. */
export function refundRoutes(context: RouterContext): Router {
  const router = express.Router({ mergeParams: true })
  router.get('/', takesNoQuery, respondJson(context, listRefunds))
  router.post('/', takesNoQuery, jsonBody, respondJson(context, refundPayment))
  router.get('/prepare', respondJson(context, prepareRefund))
  router.get('/:refundId', takesNoQuery, respondJson(context, findRefund))
  return router
}

const listRefunds: Endpoint = async (context, req, res) => {
  const merchant = payeeOf(res)
  const { id } = await findRecord(context, merchant, String(req.params['id']))
  const refunds = await context.ledger.refunds.refundsOf([id])
  return { refunds: refunds.map((refund) => refundDocument(context, merchant, refund)) }
}

const findRefund: Endpoint = async (context, req, res) => {
  const merchant = payeeOf(res)
  const { id } = await findRecord(context, merchant, String(req.params['id']))
  const refunds = await context.ledger.refunds.refundsOf([id])
  const found = refunds.find((refund) => refund.id === req.params['refundId'])
  if (found !== undefined) return refundDocument(context, merchant, found)
  throw new RequestProblem('not_found', 'This settlement has no refund of that id.')
}

const prepareRefund: Endpoint = async (context, req, res) => {
  const merchant = payeeOf(res)
  const { amount } = readQuery(req, preparationSchema, REFUND_QUERY)
  requireLocal(context)
  const refundable = await findRefundable(context, merchant, String(req.params['id']))
  const left = leftOf(context, refundable)
  if (left === 0n || (amount ?? left) > left) throw exceedsPayment(left)
  return { typedData: typedDataOf(context, refundable, amount ?? left) }
}

function typedDataOf(
  context: RouterContext,
  { payment, asset: { eip712, address, network } }: Refundable,
  amount: bigint,
) {
  const { name, version } = eip712
  const verifyingContract = checksumAddress(address)
  return {
    domain: { name, version, chainId: network.chainId, verifyingContract },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: checksumAddress(payment.payTo),
      to: checksumAddress(payment.from),
      value: amount.toString(),
      validAfter: '0',
      validBefore: (nowSeconds(context) + VALIDITY_SECONDS).toString(),
      nonce: `0x${randomBytes(32).toString('hex')}`,
    },
  }
}
