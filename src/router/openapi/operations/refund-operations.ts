/** `…/settlements/{id}/refunds` */
import { exactEvmSchema } from '../../../protocol/payment.js'
import { REFUND_MEMBERS, REFUND_QUERY } from '../../../protocol/strict-document.js'
import { preparationSchema } from '../../refund-routes.js'
import { failedRefundMembers, preparedRefund, refund, refundList } from '../documents/settlement.js'
import type { ExtendedProblem, Operations, RequestBody } from '../operation.js'
import { WITH_BODY, WITH_KEY, WITH_TRANSACTION } from '../problems.js'
import { bodySchema, queryParameters } from '../request-schema.js'
import { AUTHORIZATION, MERCHANT_ADDRESS, PAYER_ADDRESS, SIGNATURE } from './examples.js'
import { SETTLEMENT_ID } from './merchant-operations.js'
import { commonOf, type Owner } from './owner.js'

const refundBody: RequestBody = {
  schema: bodySchema(
    exactEvmSchema,
    {
      signature: { description: 'The merchant’s signature over the authorization (EIP-712).' },
      authorization: {
        description: '`message` of the prepared refund (ERC-3009).',
        members: {
          from: { description: 'The merchant’s address, which was paid.' },
          to: { description: 'The buyer’s address, which paid.' },
          value: { description: 'Atomic units that go back.', examples: ['250000'] },
          validAfter: { description: 'Unix time in seconds.', examples: ['0'] },
          validBefore: { description: 'Unix time in seconds, at most an hour from now.' },
          nonce: { description: 'Names the refund: presented again, it is paid once.' },
        },
      },
    },
    REFUND_MEMBERS,
  ),
  example: {
    signature: SIGNATURE,
    authorization: { ...AUTHORIZATION, from: MERCHANT_ADDRESS, to: PAYER_ADDRESS },
  },
}

const amount = queryParameters(
  preparationSchema,
  {
    amount: {
      description: 'Atomic units that go back. Default: all that is left.',
      schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
      examples: ['250000'],
    },
  },
  REFUND_QUERY,
)

/** The transaction of a refund has failed: the members of the Refund are there as well. */
const REFUND_FAILED: ExtendedProblem = {
  code: 'transaction_failed',
  variant: 'refund',
  members: failedRefundMembers,
}

/** Refunds of the settlements of an owner. */
export function refundOperations(owner: Owner): Operations {
  const tag = owner.access === 'admin' ? 'Admin: payments' : 'Refunds'
  const refunds = `${owner.prefix}/settlements/{id}/refunds`
  const path = { id: SETTLEMENT_ID }
  const problems = [...owner.problems, 'not_found'] as const
  const unpaid = [...problems, 'settlement_not_refundable', 'refund_exceeds_payment'] as const
  return {
    [`GET ${refunds}`]: {
      ...commonOf(owner, 'listRefunds'),
      ...{ tag, path, problems },
      summary: 'List the refunds of a settlement',
      description: 'All refunds, oldest first, those that failed included.',
      responses: { 200: { description: 'The refunds.', document: refundList } },
    },
    [`GET ${refunds}/prepare`]: {
      ...commonOf(owner, 'prepareRefund'),
      ...{ tag, path },
      summary: 'Prepare a refund',
      description:
        'Writes what the merchant’s wallet signs. Nothing is kept: a refund that is not signed never happened.',
      query: amount,
      responses: { 200: { description: 'What to sign.', document: preparedRefund } },
      problems: [...unpaid, 'refunds_not_available'],
    },
    [`POST ${refunds}`]: {
      ...commonOf(owner, 'createRefund'),
      ...{ tag, path },
      summary: 'Pay a settlement back',
      description:
        'Sends the authorization that the merchant has signed. Whatever is asked at once, refunds never exceed what was paid, and the same authorization is paid once.',
      headers: ['Idempotency-Key'],
      body: refundBody,
      responses: {
        201: { description: 'The buyer was paid.', document: refund },
        202: {
          description: 'Sent, and not mined yet: ask for the refund until it is settled.',
          document: refund,
        },
      },
      problems: [
        ...unpaid,
        ...WITH_BODY,
        ...WITH_KEY,
        ...WITH_TRANSACTION,
        ...(['refund_refused', 'refunds_not_available', REFUND_FAILED] as const),
      ],
    },
    [`GET ${refunds}/{refundId}`]: {
      ...commonOf(owner, 'getRefund'),
      ...{ tag, problems },
      summary: 'Get a refund',
      description: 'One refund, and what became of it.',
      path: { ...path, refundId: 'Id of the refund: 32 hexadecimal digits.' },
      responses: { 200: { description: 'The refund.', document: refund } },
    },
  }
}
