/**
 * `gateway.completeWithX402`: takes the payment of a UCP checkout.
 *
 * The payment is reserved, the shop places its order, and then the payment is settled. The checkout is claimed
 * meanwhile: of many payments that are presented for it, one is settled. A payment that may have been sent is
 * kept with the claim, and its outcome comes before every other payment.
 */
import { z } from 'zod'
import {
  ConfigError,
  isFacilitatorError,
  isOutsideFailure,
  type OutsideFailure,
} from '../../shared/errors.js'
import { failureWords } from '../../shared/http/failure-words.js'
import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import { once, type KeyClaim } from '../../ledger/once/once.js'
import { chooseMerchant } from '../../core/merchants/choose-merchant.js'
import { merchantsOf, type Merchant } from '../../core/merchants/project.js'
import { decodePayment } from '../../shared/protocol/decoded-payment.js'
import { membersOf, parseDocument } from '../../shared/protocol/document.js'
import { parsePaymentSubmission, requirementsSchema } from '../../shared/protocol/payment.js'
import type { PaymentSubmission } from '../../shared/protocol/payment.js'
import { isRefusal, type Reservation } from '../../core/schemes/scheme.js'
import { inProgress, notPaid, refused } from './ucp/completion.js'
import type { UcpCompletionOptions, UcpCompletion } from './ucp/completion.js'
import type { RouterContext } from '../context.js'
import { appliedRateOf } from '../payments/quote-fiat.js'
import { detailsOf } from '../payments/settle-payment.js'

export type CompletionContext = Omit<RouterContext, 'downloads' | 'revenue'>

interface Completing extends UcpCompletionOptions {
  readonly seller: Merchant
  /** Names the checkout: its claim, and who asks for its settlement. */
  readonly key: string
  readonly claim: KeyClaim
}

interface ShopFailure {
  readonly thrown: unknown
}

type Outcome = UcpCompletion | ShopFailure

/**
 * Completes a checkout.
 *
 * @param instrument - The selected instrument, as it was parsed from the request.
 * @throws `ConfigError` for a wrong option, and whatever the shop's own functions throw.
 */
export async function completeCheckout(
  context: CompletionContext,
  instrument: unknown,
  options: UcpCompletionOptions,
): Promise<UcpCompletion> {
  checkConfig(options)
  await context.directory.whenLoaded()
  const seller = chooseMerchant(merchantsOf(context.directory.all), options.merchant)
  const { project } = seller
  const { url } = options.config.resource
  const key = idempotencyKey('checkout', project, url)
  const request = { key, fingerprint: fingerprintOf(url), project }
  const result = await once(context, request, (claim) =>
    complete(context, { ...options, seller, key, claim }, instrument),
  ).catch((error: unknown) => {
    if (!isOutsideFailure(error)) throw error
    logFailure(context, { ...options, seller }, error)
    // An earlier request may have sent a payment.
    return { kind: 'produced', value: inProgress(503) } as const
  })
  switch (result.kind) {
    case 'produced':
      if ('thrown' in result.value) throw result.value.thrown
      return result.value
    case 'repeated':
      return JSON.parse(result.stored) as UcpCompletion
    case 'busy':
    case 'conflict':
      return inProgress()
  }
}

/**
 * Settles a payment.
 *
 * Once the order is placed, its payment is kept with the claim. Another one is taken only when that one is refused.
 */
async function complete(
  context: CompletionContext,
  checkout: Completing,
  instrument: unknown,
): Promise<Outcome> {
  const { kept } = checkout.claim
  const before = kept && (JSON.parse(kept.answer) as PaymentSubmission)
  const outcome = before && (await take(context, checkout, { submission: before, isPlaced: true }))
  if (outcome !== undefined && !isUnpaid(outcome)) return outcome
  const submission = readInstrument(context, checkout, instrument)
  if ('status' in submission) return outcome ?? submission
  if (outcome !== undefined && isSame(signed(submission), signed(before!))) return outcome
  return take(context, checkout, { submission, isPlaced: false })
}

const signed = ({ paymentPayload }: PaymentSubmission): unknown => paymentPayload.payload

const isUnpaid = (outcome: Outcome): boolean =>
  'status' in outcome && outcome.status === 'ready_for_complete'

async function take(
  context: CompletionContext,
  checkout: Completing,
  { submission, isPlaced }: { readonly submission: PaymentSubmission; readonly isPlaced: boolean },
): Promise<Outcome> {
  const { claim, placeOrder } = checkout
  const reserved = await reserve(context, checkout, submission).catch(outsideFailure)
  if ('failure' in reserved) {
    logFailure(context, checkout, reserved.failure)
    return isPlaced ? inProgress(503) : cannotSettle(reserved.failure)
  }
  if (isRefusal(reserved)) {
    const { refused: reason, message, payer = '', settledBy } = reserved
    const { network } = submission.paymentRequirements
    // It has paid this checkout, and its answer was lost.
    if (isPlaced && settledBy !== undefined)
      return finish(claim, { success: true, transaction: settledBy, network, payer })
    return isPlaced ? endPlaced(checkout, refused(reason, message)) : refused(reason, message)
  }
  if (!isPlaced) {
    const failed = await thrownBy(() =>
      placeOrder({ payer: reserved.payer, offer: submission.paymentRequirements }),
    )
    // Nothing may be sent before it is kept: another payment could be taken beside it.
    const isKept =
      failed === undefined && (await claim.keep({ answer: JSON.stringify(submission) }))
    if (!isKept) {
      await reserved.release().catch((error: unknown) => logFailure(context, checkout, error))
      return failed ?? inProgress(503)
    }
  }
  return settle(context, checkout, reserved)
}

async function reserve(
  context: CompletionContext,
  { seller, key, config }: Completing,
  { paymentPayload, paymentRequirements: offer }: PaymentSubmission,
) {
  context.counters.count(seller.project, 'presented')
  const appliedRate = await appliedRateOf(context, seller, offer)
  const submission = { paymentPayload, paymentRequirements: offer, paymentId: undefined }
  const terms = {
    ...seller,
    appliedRate,
    details: await detailsOf(context, seller, { submission, appliedRate }),
    // Nobody but this checkout takes an open payment of its own up again.
    redeemWithoutProof: 'same-address' as const,
    purchase: { method: 'POST', url: config.resource.url, client: key, asker: key },
  }
  const { facilitator } = context
  return facilitator.reserve(decodePayment(paymentPayload, offer, facilitator.formats), terms)
}

async function settle(
  context: CompletionContext,
  checkout: Completing,
  reserved: Reservation,
): Promise<Outcome> {
  const settlement = await reserved.settle().catch(outsideFailure)
  if ('failure' in settlement) {
    const { failure } = settlement
    logFailure(context, checkout, failure)
    return isUnsent(failure) ? endPlaced(checkout, cannotSettle(failure)) : inProgress(503)
  }
  if (!settlement.success)
    return endPlaced(checkout, refused(settlement.errorReason, settlement.errorMessage))
  try {
    await reserved.markDelivered()
  } catch (error) {
    logFailure(context, checkout, error)
    await reserved.reopen().catch((failure: unknown) => logFailure(context, checkout, failure))
    return inProgress(503)
  }
  return finish(checkout.claim, settlement)
}

async function finish(
  claim: KeyClaim,
  settlement: Extract<UcpCompletion, { status: 'completed' }>['settlement'],
): Promise<UcpCompletion> {
  const completion = { status: 'completed', httpStatus: 200, messages: [], settlement } as const
  await claim.finish(JSON.stringify(completion))
  return completion
}

/** Takes the order back, unless its payment may still be settled. */
async function endPlaced(
  { claim, cancelOrder }: Completing,
  outcome: UcpCompletion,
): Promise<Outcome> {
  if (!isUnpaid(outcome)) return outcome
  // While it is kept, it may still be settled: its order must be there.
  if (!(await claim.keep(undefined))) return inProgress(503)
  // Another payment may follow in this very request: the claim lasts until its end.
  return (await thrownBy(() => cancelOrder?.())) ?? outcome
}

function readInstrument(
  { handlerId }: CompletionContext,
  { config }: Completing,
  instrument: unknown,
): PaymentSubmission | UcpCompletion {
  const { handler_id: handler, type, credential } = membersOf(instrument)
  if (handler !== handlerId || type !== 'x402')
    return refused(
      'invalid_payload',
      `This payment needs an instrument of type x402 whose handler_id is ${handlerId}.`,
    )
  const read = parsePaymentSubmission(credential)
  if (!read.ok) {
    const [{ path, message } = { path: '', message: 'is none' }] = read.errors
    return refused('invalid_payload', `The credential is no x402 payment: ${path} ${message}.`)
  }
  const { paymentPayload, paymentRequirements } = read.value
  const offer = config.accepts.find((entry) => isSame(entry, paymentRequirements))
  if (offer === undefined || !isSame(offer, paymentPayload.accepted))
    return refused(
      'invalid_payment_requirements',
      'The payment is not for an offer of this checkout as it is now; nothing was charged. Get the checkout, and pay an entry of its accepts, unchanged.',
    )
  const url = paymentPayload.resource?.['url']
  if (url !== undefined && url !== config.resource.url)
    return refused('resource_mismatch', 'The payment is for another checkout; nothing was charged.')
  return { paymentPayload, paymentRequirements: offer }
}

const isSame = (one: unknown, other: unknown): boolean =>
  fingerprintOf(one) === fingerprintOf(other)

const configSchema = z.looseObject({
  resource: z.looseObject({ url: z.string().min(1) }),
  accepts: z.array(requirementsSchema).min(1),
})

/** @throws `ConfigError` */
function checkConfig({ config, placeOrder }: UcpCompletionOptions): void {
  const read = parseDocument(configSchema, config)
  if (!read.ok)
    throw new ConfigError(
      read.errors.map(({ path, message }) => ({
        option: path === '' ? 'config' : `config.${path}`,
        code: 'invalid_value',
        message: `${message}: give the config that checkout-prepare answered for this checkout`,
      })),
    )
  if (typeof placeOrder !== 'function')
    throw new ConfigError('placeOrder', 'must be a function', 'invalid_type')
}

async function thrownBy(run: () => unknown): Promise<ShopFailure | undefined> {
  try {
    await run()
    return undefined
  } catch (thrown) {
    return { thrown }
  }
}

function outsideFailure(failure: unknown): { readonly failure: OutsideFailure } {
  if (isOutsideFailure(failure)) return { failure }
  throw failure
}

/** Whether certainly no transaction was sent. */
const isUnsent = (failure: OutsideFailure): boolean =>
  isFacilitatorError(failure)
    ? failure.isUnsent
    : ['relayer_without_funds', 'gas_price_too_high', 'settlement_timeout', 'hook_failed'].includes(
        failure.code,
      )

const cannotSettle = (failure: OutsideFailure): UcpCompletion =>
  notPaid(failure.code, { content: failureWords(failure, 'route'), httpStatus: 503 })

function logFailure(
  { logger }: CompletionContext,
  { seller, config }: Pick<Completing, 'seller' | 'config'>,
  error: unknown,
): void {
  const fields = { project: seller.project, resource: config.resource.url, error }
  logger.error('The payment of a checkout could not be taken.', fields)
}
