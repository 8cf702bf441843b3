import { decodePayment } from '../../shared/protocol/decoded-payment.js'
import type { VerifyResponse } from '../../shared/protocol/payment.js'
import { invalidResponse, isFinal } from '../../shared/protocol/reason-words.js'
import { merchantOf } from '../serve/authenticate.js'
import type { RouterContext } from '../context.js'
import type { Call } from '../serve/define-endpoint.js'
import { readSubmission } from './other-version.js'
import { paymentIdKey, requireFreeId } from './payment-id.js'
import { identifySubmission, type Submission } from './submission.js'
import { onceForKey, readHeaderKey } from '../serve/repeatable-request.js'

export async function verifyPayment(
  context: RouterContext,
  call: Call<unknown, Submission>,
): Promise<VerifyResponse> {
  const { req, res } = call
  const merchant = merchantOf(res)
  const { project } = merchant
  const submitted = readSubmission(context, call)
  if (submitted.submission === undefined) return invalidResponse(submitted.other)
  const submission = identifySubmission(submitted.submission)
  const payment = decodePayment(
    submission.paymentPayload,
    submission.paymentRequirements,
    context.facilitator.formats,
  )
  const byId = paymentIdKey(context, res, submission)
  const byHeader = readHeaderKey(req, { res, project, endpoint: 'verify', body: submission })

  // The key of the same request to settle: a payment that names no resource is bound to it.
  const toSettle = readHeaderKey(req, { res, project, endpoint: 'settle', body: submission })
  const terms = { ...merchant, purchase: { asker: toSettle?.key } }

  const verify = async (): Promise<VerifyResponse> => {
    if (byId !== undefined) await requireFreeId(context, byId)
    const verified = await context.facilitator.verifyPayment(payment, terms)
    // A valid payment is counted when it is settled.
    if (!verified.isValid) context.counters.count(project, 'presented')
    return verified
  }

  return onceForKey(context, byHeader, async (claim) => {
    const verified = await verify()
    // A payment that is valid now may be settled a moment later.
    if (!verified.isValid && isFinal(verified.invalidReason))
      await claim.finish(JSON.stringify(verified))
    return verified
  })
}
