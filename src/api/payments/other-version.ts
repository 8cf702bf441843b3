/**
 * Payments of another version of x402, at verify and settle.
 *
 * They have another shape. Merchants with `v1` take those of version 1. The SDKs of the others show a reason, but
 * no error of HTTP.
 */
import type { Request, Response } from 'express'
import { isOtherVersion, versionOf, type PaymentSubmission } from '../../shared/protocol/payment.js'
import { membersOf } from '../../shared/protocol/document.js'
import { shown } from '../../shared/protocol/same-offer.js'
import { VERSION_1 } from '../../shared/protocol/version-1.js'
import { merchantOf } from '../serve/authenticate.js'
import type { RouterContext } from '../context.js'
import type { Call } from '../serve/define-endpoint.js'
import { readSubmissionV1, type Submission } from './submission.js'

/** The refusal of a payment of a version that is not spoken, and the network that it names. */
interface OtherVersion {
  readonly reason: 'invalid_x402_version'
  readonly network: string
}

type Submitted =
  | { readonly submission: Submission | PaymentSubmission }
  | { readonly submission?: never; readonly other: OtherVersion }

/**
 * Reads the body of verify and settle.
 *
 * @throws `RequestProblem` 400 with every invalid member
 */
export function readSubmission(
  context: Pick<RouterContext, 'counters'>,
  { req, res, readBody }: Pick<Call<unknown, Submission>, 'req' | 'res' | 'readBody'>,
): Submitted {
  const { paymentPayload } = membersOf(req.body)
  // The payment's own version counts, where it has one.
  const document: unknown = versionOf(paymentPayload) === undefined ? req.body : paymentPayload
  if (!isOtherVersion(document)) return { submission: readBody() }
  if (merchantOf(res).v1 && versionOf(document) === VERSION_1)
    return { submission: readSubmissionV1(req) }
  return { other: refuse(context, req, res) }
}

function refuse(
  { counters }: Pick<RouterContext, 'counters'>,
  { body }: Request,
  res: Response,
): OtherVersion {
  const { paymentPayload, paymentRequirements } = membersOf(body)
  const reason = 'invalid_x402_version'
  const { project } = merchantOf(res)
  counters.count(project, 'presented')
  counters.count(project, 'refused', reason)
  const named = [membersOf(paymentRequirements)['network'], membersOf(paymentPayload)['network']]
  const network = named.find((one) => typeof one === 'string') ?? ''
  return { reason, network: shown(network) }
}
