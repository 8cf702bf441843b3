/**
 * Payments of another version of x402, at verify and settle.
 *
 * They have another shape. Their SDKs show a reason, but no error of HTTP.
 */
import type { Request, Response } from 'express'
import { isOtherVersion, versionOf } from '../protocol/payment.js'
import { shown } from '../protocol/same-offer.js'
import { merchantOf } from './authenticate.js'
import type { RouterContext } from './context.js'

/** The refusal of such a payment, and the network that it names. */
interface OtherVersion {
  readonly reason: 'invalid_x402_version'
  readonly network: string
}

/** Refuses a payment of another version, and counts it; `undefined` for every other body. */
export function refuseOtherVersion(
  { counters }: Pick<RouterContext, 'counters'>,
  { body }: Request,
  res: Response,
): OtherVersion | undefined {
  const { paymentPayload, paymentRequirements } = membersOf(body)
  // The payment's own version counts, where it has one.
  if (!isOtherVersion(versionOf(paymentPayload) === undefined ? body : paymentPayload))
    return undefined
  const reason = 'invalid_x402_version'
  const { project } = merchantOf(res)
  counters.count(project, 'presented')
  counters.count(project, 'refused', reason)
  const named = [membersOf(paymentRequirements)['network'], membersOf(paymentPayload)['network']]
  const network = named.find((one) => typeof one === 'string') ?? ''
  return { reason, network: shown(network) }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
