/** The problems of the API. */
import { z } from 'zod'
import { STATUS, type ProblemCode } from '../../shared/http/problem-status.js'
import { problemDetails } from '../../shared/http/respond-problem.js'
import type { EndpointProblem } from '../serve/define-endpoint.js'
import { component, document } from '../documents/component.js'
import { integer, object, text } from '../documents/fields.js'
import { reasonSchema } from '../documents/payment.js'

/** Meanings of the problems, for people. */
export const PROBLEM_TEXTS: Readonly<Record<ProblemCode, string>> = {
  invalid_request: 'A member, parameter, header or the path is not as required; see `errors`.',
  invalid_json: 'The body is not JSON.',
  unauthorized: 'The token is missing, unknown or was revoked.',
  cross_origin: 'The request has a session’s cookie, and comes from a page of another site.',
  forbidden: 'The token’s scopes, or the person’s role, do not allow this.',
  not_found: 'There is nothing of that id or path.',
  merchant_paused: 'The merchant takes no payments for now.',
  merchant_not_configured: 'The project has no merchant yet: nobody would be paid.',
  method_not_allowed: 'The path does not take this method; `Allow` names those that it takes.',
  idempotency_conflict:
    'The `Idempotency-Key`, or the payment’s `payment-identifier`, was used for another request.',
  project_exists: 'The id belongs to another project, or did before.',
  project_configured:
    'The project, token or webhook comes from the configuration, and is changed there only.',
  settlement_not_refundable: 'The settlement was not paid, or cannot be refunded now.',
  refund_exceeds_payment: 'The refund is more than what is left of the payment.',
  refund_refused: 'The signed refund was refused, and nothing was sent; see `errorReason`.',
  too_many_webhooks: 'There are as many webhooks as there may be.',
  too_many_checkouts: 'There are as many open payment links as there may be.',
  too_many_tokens: 'There are as many tokens in use as there may be.',
  checkout_paid: 'The payment link was paid already. Nothing more is charged.',
  checkout_expired: 'The payment link has expired.',
  checkout_canceled: 'The merchant has canceled the payment link.',
  checkout_in_progress: 'Another payment of this link is under way: try again after `Retry-After`.',
  answer_not_kept:
    'The first request with this `Idempotency-Key` was answered with a secret, which is not kept.',
  precondition_failed: '`If-Match` names another version: the project has changed meanwhile.',
  payload_too_large: 'The body is larger than 64 KiB.',
  unsupported_media_type: 'The body is not `application/json` in UTF-8.',
  rate_limited: 'Too many requests; `Retry-After` says when to come back.',
  internal_error: 'The gateway failed; this is not the request’s fault.',
  answer_too_large: 'The paid response was larger than the gateway holds.',
  refunds_not_available: 'Another facilitator sends the transactions: refunds are made there.',
  transaction_failed: 'The transaction failed on chain, and nobody was paid by it.',
  settlement_pending: 'The payment was accepted, and its transaction is not mined yet.',
  idempotency_in_progress:
    'The first request with this `Idempotency-Key` is not answered yet: send it again later.',
  server_busy: 'The gateway has too many of these open at once.',
  shutting_down:
    'The gateway is shutting down, and nothing was sent: try again after `Retry-After`.',
  unsupported_currency:
    'The merchant takes no token for this currency, or no source knows the rate that it needs.',
  amount_out_of_range: 'The amount is outside the merchant’s limits.',
  rate_unavailable: 'No source has a usable exchange rate now.',
  chain_unreachable: 'The network’s node did not answer.',
  chain_refused: 'The network’s node refused a request.',
  chain_mismatch: 'The node is on another chain than configured.',
  settlement_timeout: 'Nothing could be sent in time, and nothing was.',
  facilitator_unreachable: 'The remote facilitator did not answer.',
  facilitator_refused: 'The remote facilitator’s answer cannot be used.',
  facilitator_busy: 'The remote facilitator takes no more requests for now; nothing was sent.',
  ledger_full: 'The ledger takes no new payments for now.',
  ledger_unavailable: 'The ledger’s database cannot be used at present.',
  relayer_without_funds: 'No relayer has enough native currency to pay for gas.',
  gas_price_too_high: 'Gas costs more than the gateway pays.',
  hook_failed: 'The operator’s own check of payments failed; nothing was sent.',
}

/** The `errors` of a request that is not as required. */
const errorsMember = z
  .array(
    document('RequestError', 'What is wrong with one member of a request.', {
      path: text(
        'Path of the member, parameter or header; empty for the body itself.',
        'requestedAmount',
      ),
      message: text('What it must be.', 'is missing'),
    }),
  )
  .optional()
  .meta({ description: 'Everything that is wrong with the request.' })

/** Members that a problem has wherever it occurs. */
const MEMBERS: Partial<Record<ProblemCode, z.ZodRawShape>> = {
  invalid_request: { errors: errorsMember },
  invalid_json: { errors: errorsMember },
  settlement_not_refundable: {
    delivering: z.literal(true).optional().meta({
      description: 'What was paid for is being delivered at this moment: try again shortly.',
    }),
  },
  refund_exceeds_payment: {
    left: text('Atomic units that are left to refund.', '250000'),
  },
  refund_refused: { errorReason: reasonSchema },
  answer_not_kept: {
    id: text('Id of what the first request created.'),
  },
}

const made = new Map<string, z.ZodType>()

/** The schema of a problem, as a component. */
export async function problemSchema(problem: EndpointProblem): Promise<z.ZodType> {
  const isPlain = typeof problem === 'string'
  const code = codeOf(problem)
  const members = isPlain ? MEMBERS[code] : await problem.members.get()
  const id = isPlain ? `Problem_${code}` : `Problem_${code}_${problem.variant}`
  const known = made.get(id)
  if (known !== undefined) return known
  const status = STATUS[code].api
  const { type, title } = problemDetails({ code, detail: '' }, status)
  const schema = object(PROBLEM_TEXTS[code], {
    type: z.literal(type).meta({ description: 'Names the kind of problem.' }),
    title: z.literal(title).meta({ description: 'The phrase of the status.' }),
    status: z.literal(status).meta({ description: 'The HTTP status.' }),
    detail: text('What was wrong, and what to do.'),
    code: z.literal(code).meta({ description: 'The kind of problem, for programs.' }),
    ...members,
    requestId: text('Id of the request, as in `X-Request-Id` and in the log.').optional(),
  })
  made.set(id, component(id, schema))
  return schema
}

export function codeOf(problem: EndpointProblem): ProblemCode {
  return typeof problem === 'string' ? problem : problem.code
}

document(
  'ProblemDetails',
  'What every error body has (RFC 9457). Each problem is described on its own as `Problem_…`, with the members that only it has.',
  {
    type: text(
      'Names the kind of problem: `urn:x402-gateway:problem:` and its code.',
      'urn:x402-gateway:problem:unauthorized',
    ),
    title: text('The phrase of the status.', 'Unauthorized'),
    status: integer('The HTTP status.', 401),
    detail: text('What was wrong, and what to do.'),
    code: z.enum(Object.keys(STATUS) as ProblemCode[]).meta({
      description: 'The kind of problem, for programs.',
    }),
    requestId: text('Id of the request.').optional(),
  },
)
