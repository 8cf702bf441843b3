/** `…/settlements/{id}/refunds`: pays settlements back. */
import { z } from 'zod'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { notFound } from '../../shared/http/respond-problem.js'
import { isReference, NOT_A_REFERENCE } from '../../ledger/payment-details.js'
import { erc3009Schema } from '../../shared/protocol/erc3009.js'
import { parseUint256 } from '../../shared/protocol/primitives.js'
import { DOMAIN_TYPE, TRANSFER_TYPES } from '../../shared/protocol/typed-data.js'
import { ENVELOPE } from '../../shared/protocol/strict-document.js'
import { payeeOf, type Payee } from '../serve/acting.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint, type Access, type Call, type Endpoint } from '../serve/define-endpoint.js'
import { AUTHORIZATION, MERCHANT_ADDRESS, PAYER_ADDRESS, SIGNATURE } from '../serve/examples.js'
import type { LedgerRecord } from '../../ledger/index.js'
import { isRefundRecord } from '../../ledger/refunds.js'
import { listRecords } from '../settlements/list-records.js'
import { namedProject, owned, type Owner, type PaymentsOwner } from '../serve/owner.js'
import { refundPayment } from './refund-payment.js'
import {
  exceedsPayment,
  findRefundable,
  leftOf,
  nowSeconds,
  requireLocal,
  type Refundable,
} from './refundable.js'
import { refundDocuments } from './refund-documents.js'
import { refundQuery } from '../settlements/settlement-query.js'
import { findRecord, SETTLEMENT_ID } from '../settlements/settlement-endpoints.js'
import { WITH_TRANSACTION } from '../serve/usual-problems.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { world } from '../../shared/world.js'

const documents = lazyDocuments(() => import('../documents/settlement.js'))

/** Time for a merchant to sign a prepared refund, and for it to be mined (s). */
const VALIDITY_SECONDS = 600n

/** The types of `eth_signTypedData_v4` (EIP-712). */
const TYPES = { EIP712Domain: DOMAIN_TYPE, ...TRANSFER_TYPES } as const

const amountSchema = z
  .string()
  .refine((text) => (parseUint256(text) ?? 0n) > 0n, {
    error: 'must be atomic units of the token: a positive integer, e.g. 250000 for 0.25 USDC',
  })
  .transform(BigInt)
  .optional()
  .meta({
    description: 'Atomic units that go back. Default: all that is left.',
    as: { type: 'string', pattern: '^[1-9][0-9]*$' },
    examples: ['250000'],
  })

/** A reason is as short and visible as a reference. */
const reasonMember = z
  .custom<string>(isReference, NOT_A_REFERENCE)
  .nullish()
  .meta({
    description: 'Why it is paid back, for the books: 1 to 200 visible characters.',
    as: { type: ['string', 'null'], minLength: 1 },
    examples: ['The parcel was lost.'],
  })

const { signature, authorization } = erc3009Schema.shape
const { from, to, value, validAfter, validBefore, nonce } = authorization.shape

const signedRefund = z.looseObject({
  reason: reasonMember,
  signature: signature.meta({
    description: 'The merchant’s signature over the authorization (EIP-712).',
  }),
  authorization: z
    .looseObject({
      from: from.meta({ description: 'The merchant’s address, which was paid.' }),
      to: to.meta({ description: 'The buyer’s address, which paid.' }),
      value: value.meta({ description: 'Atomic units that go back.', examples: ['250000'] }),
      validAfter: validAfter.meta({ description: 'Unix time in seconds.', examples: ['0'] }),
      validBefore: validBefore.meta({
        description: 'Unix time in seconds, at most an hour from now.',
      }),
      nonce: nonce.meta({
        description: 'Names the refund: presented again, it is paid once.',
      }),
    })
    .meta({ description: '`message` of the prepared refund (ERC-3009).' }),
})

const UNPAID = ['settlement_not_refundable', 'refund_exceeds_payment'] as const

/** The transaction of a refund has failed: the members of the Refund are there as well. */
const REFUND_FAILED = {
  code: 'transaction_failed',
  variant: 'refund',
  members: documents('failedRefundMembers'),
} as const

export function refundListEndpoints<Context extends RouterContext>(
  owner: PaymentsOwner<Context>,
): readonly Endpoint<Context>[] {
  const { access, prefix, scopeOf } = owner
  return [
    defineEndpoint({
      ...owned(owner, 'listAllRefunds', { tag: 'Refunds', scope: 'read' }),
      method: 'GET',
      path: `${prefix}/refunds`,
      summary: 'List refunds',
      description:
        'Refunds of all settlements, newest first, in pages: with their reasons, and who asked for them.',
      query: owner.withScope(refundQuery),
      responses: { 200: { description: 'A page.', document: owner.refundPage } },
      async handle(context: Context, call) {
        const scope = scopeOf(context, call)
        const asked = { scope, kind: 'refund', query: call.query } as const
        const { page, next } = await listRecords(context, asked)
        const described = await refundDocuments(
          context,
          { accepts: scope.accepts, access },
          page.filter(isRefundRecord),
        )
        // Operators see whose refund it is.
        const ownerOf = (record?: LedgerRecord) =>
          access === 'admin' ? namedProject(context, record?.project) : {}
        const refunds = described.map((one, index) => ({ ...ownerOf(page[index]), ...one }))
        return { refunds, ...next }
      },
    }),
  ]
}

export function refundEndpoints<Context extends RouterContext>(
  owner: Owner<Context>,
): readonly Endpoint<Context>[] {
  const path = `${owner.prefix}/settlements/{id}/refunds`
  const params = { id: SETTLEMENT_ID }
  return [
    defineEndpoint({
      ...owned(owner, 'listRefunds', { tag: 'Refunds', scope: 'read' }),
      method: 'GET',
      path,
      params,
      summary: 'List the refunds of a settlement',
      description: 'All refunds, oldest first, those that failed included.',
      responses: { 200: { description: 'The refunds.', document: documents('refundList') } },
      async handle(context: Context, call) {
        const { refunds } = await refundsOf(context, call, owner)
        return { refunds }
      },
    }),
    defineEndpoint({
      ...owned(owner, 'createRefund', { tag: 'Refunds', scope: 'refund' }),
      method: 'POST',
      path,
      params,
      summary: 'Pay a settlement back',
      description:
        'Sends the authorization that the merchant has signed. Whatever is asked at once, refunds never exceed what was paid, and the same authorization is paid once.',
      headers: ['Idempotency-Key'],
      body: {
        schema: signedRefund,
        tolerates: ENVELOPE,
        example: {
          signature: SIGNATURE,
          authorization: { ...AUTHORIZATION, from: MERCHANT_ADDRESS, to: PAYER_ADDRESS },
        },
      },
      responses: {
        201: { description: 'The buyer was paid.', document: documents('refund') },
        202: {
          description: 'Sent, and not mined yet: ask for the refund until it is settled.',
          document: documents('refund'),
        },
      },
      problems: [
        ...UNPAID,
        ...WITH_TRANSACTION,
        'refund_refused',
        'refunds_not_available',
        REFUND_FAILED,
      ],
      handle: (context: Context, call) => refundPayment(context, call),
    }),
    defineEndpoint({
      ...owned(owner, 'prepareRefund', { tag: 'Refunds', scope: 'refund' }),
      method: 'GET',
      path: `${path}/prepare`,
      params,
      summary: 'Prepare a refund',
      description:
        'Writes what the merchant’s wallet signs. Nothing is kept: a refund that is not signed never happened.',
      query: z.object({ amount: amountSchema }),
      responses: { 200: { description: 'What to sign.', document: documents('preparedRefund') } },
      problems: [...UNPAID, 'refunds_not_available'],
      async handle(context: Context, { query: { amount }, res, param }) {
        const merchant = payeeOf(res)
        requireLocal(context)
        const refundable = await findRefundable(context, merchant, param('id'))
        const left = leftOf(context, refundable)
        if (left === 0n || (amount ?? left) > left) throw exceedsPayment(left)
        return { typedData: typedDataOf(context, refundable, amount ?? left) }
      },
    }),
    defineEndpoint({
      ...owned(owner, 'getRefund', { tag: 'Refunds', scope: 'read' }),
      method: 'GET',
      path: `${path}/{refundId}`,
      params: { ...params, refundId: 'Id of the refund: 32 hexadecimal digits.' },
      summary: 'Get a refund',
      description: 'One refund, and what became of it.',
      responses: { 200: { description: 'The refund.', document: documents('refund') } },
      async handle(context: Context, call) {
        const { refunds } = await refundsOf(context, call, owner)
        const found = refunds.find((one) => one.id === call.param('refundId'))
        return found ?? notFound('This settlement has no refund of that id.')
      },
    }),
  ]
}

async function refundsOf(
  context: RouterContext,
  { res, param }: Call,
  { access }: { readonly access: Access },
) {
  const { project, accepts }: Payee = payeeOf(res)
  const { id } = await findRecord(context, project, param('id'))
  const found = await context.ledger.refunds.refundsOf([id])
  return { refunds: await refundDocuments(context, { accepts, access }, found) }
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
    primaryType: 'TransferWithAuthorization' as const,
    message: {
      from: checksumAddress(payment.payTo),
      to: checksumAddress(payment.from),
      value: amount.toString(),
      validAfter: '0',
      validBefore: (nowSeconds(context) + VALIDITY_SECONDS).toString(),
      nonce: `0x${world.randomBytes(32).toString('hex')}`,
    },
  }
}
