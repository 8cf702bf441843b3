import { setMaxListeners } from 'node:events'
import type { AuthorizationKey, LedgerStore } from '../ledger/ledger.js'
import type { Logger } from '../logger.js'
import { findNetwork } from '../protocol/networks.js'
import { EXACT, parseExactEvmPayload, X402_VERSION } from '../protocol/payment.js'
import type { PaymentRequirements } from '../protocol/payment.js'
import {
  authorizationKey,
  lowerHex,
  parseAuthorization,
} from '../schemes/exact-evm/authorization.js'
import { checkLedger, refusalDetails } from '../schemes/exact-evm/verify/checks.js'
import { describePayment } from '../schemes/exact-evm/describe.js'
import {
  verifyPayment,
  presentedOf,
  createRecentlyVerified,
  type VerifiedPayment,
  type PresentedPayment,
} from '../schemes/exact-evm/verify/verify.js'
import type { SettlementNetwork } from '../schemes/exact-evm/settlement-network.js'
import { leavePayment, takePayment } from '../schemes/exact-evm/pending-payments.js'
import { createReconciler } from '../schemes/exact-evm/confirm/reconciler.js'
import { resumeReservation } from '../schemes/exact-evm/settle/resume.js'
import {
  newReservation,
  logLedgerFailure,
  type SettleContext,
} from '../schemes/exact-evm/settle/reservation.js'
import type { EventBus } from '../schemes/events.js'
import { settleReserved } from './facilitator.js'
import { isRefusal } from '../schemes/scheme.js'
import type { ReservingFacilitator } from './facilitator.js'
import type { MerchantTerms, Refusal, Reservation } from '../schemes/scheme.js'

/** Milliseconds between two rounds over the payments whose outcome is not known. */
const RECONCILE_INTERVAL_MS = 30_000

/** Options of {@link createLocalFacilitator}. */
export interface LocalFacilitatorOptions {
  /** By CAIP-2 id. */
  readonly networks: ReadonlyMap<string, SettlementNetwork>
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Milliseconds a settlement is waited for before it is answered as pending. */
  readonly settleTimeoutMs: number
  /** Milliseconds between two looks at all payments that are open. @defaultValue 30000 */
  readonly reconcileIntervalMs?: number | undefined
  /** Ends work in the background. */
  readonly closed: AbortSignal
}

/**
 * Verifies and settles in this process: `exact` payments by ERC-3009 on EVM networks.
 *
 * At once, and then again and again, it looks after what the ledger says was left open.
 */
export function createLocalFacilitator(options: LocalFacilitatorOptions): ReservingFacilitator {
  const { networks, ledger, events } = options
  // One wait a payment under way, and each listens: Node takes more than ten for a leak.
  setMaxListeners(0, options.closed)
  const now = (): bigint => BigInt(Math.floor(options.now() / 1000))
  const { reconcileIntervalMs = RECONCILE_INTERVAL_MS } = options
  const reconciler = createReconciler({ ...options, now, reconcileIntervalMs })
  const context: SettleContext = { ...options, now, reconciler, recent: createRecentlyVerified() }

  /** What failed may have been paid all the same: then the payment is examined as it stands now. */
  const verifyAgain = async (payment: PresentedPayment, refusal: Refusal) => {
    const key = keyOf(networks, payment)
    const record = key && (await ledger.find(key))
    if (record?.state !== 'failed') return refusal
    await reconciler.review(record)
    return verifyPayment(context, payment)
  }

  /** Beside what its payer has pending, and counted with it where it is to be reserved. */
  const within = async (
    examined: VerifiedPayment | Refusal,
    isReserved: boolean,
  ): Promise<VerifiedPayment | Refusal> => {
    if (isRefusal(examined) || examined.isSubmitted) return examined
    const { core, payer } = examined
    if (isReserved) {
      const refused = await takePayment(examined)
      return refused === undefined ? examined : { refused, payer }
    }
    const isCovered = await core.pendingSpend.covers(examined)
    return isCovered ? examined : { refused: 'insufficient_funds', payer }
  }

  const verify = async (payment: PresentedPayment, isReserved: boolean) => {
    const first = await verifyPayment(context, payment)
    // Only a payment that the ledger knows is refused with its transaction.
    const isKnown = isRefusal(first) && first.transaction !== undefined
    const examined = await within(isKnown ? await verifyAgain(payment, first) : first, isReserved)
    if (isRefusal(examined)) announceRefusal(events, payment, examined)
    else events.emit('verified', describePayment(examined))
    return examined
  }

  const reserve = async (payment: PresentedPayment): Promise<Reservation | Refusal> => {
    const examined = await verify({ ...payment, trustRecent: true }, true)
    if (isRefusal(examined)) return examined
    const { core, key } = examined
    const reserveReady = async () => {
      if (!examined.isSubmitted) await core.relayers.requireReady()
      return ledger.reserve(examined.entry)
    }
    const record = await reserveReady().catch((error: unknown) => {
      if (!examined.isSubmitted) leavePayment(core, key)
      throw error
    })
    const isKept = record === undefined && !examined.terms?.purchase?.redeemOnly
    if (!isKept && !examined.isSubmitted) leavePayment(core, key)
    const { payer } = examined
    if (record === undefined) {
      if (!examined.terms?.purchase?.redeemOnly) return newReservation(context, examined)
      // What was open when it was examined has been given back since.
      await logLedgerFailure(context, ledger.release(examined.key))
      return { refused: 'quote_expired', payer }
    }
    const presented = presentedOf(examined)
    const refused = checkLedger(record, presented)
    if (refused !== undefined)
      return { refused, payer, ...refusalDetails(record, presented, refused) }
    return resumeReservation(context, examined)
  }

  return {
    async verify(payload, requirements, terms) {
      const examined = await verify({ payload, requirements, terms }, false)
      if (!isRefusal(examined)) return { isValid: true, payer: examined.payer }
      const { refused, payer } = examined
      return { isValid: false, invalidReason: refused, ...(payer && { payer }) }
    },
    reserve: (payload, requirements, terms) => reserve({ payload, requirements, terms }),
    async settle(payload, requirements, terms) {
      const reserved = await reserve({ payload, requirements, terms, isSettledNow: true })
      return settleReserved(reserved, requirements.network)
    },
    async supported() {
      const signers = [...networks.values()].flatMap(({ relayers }) => relayers.addresses)
      return {
        kinds: [...networks.keys()].map((network) => ({
          x402Version: X402_VERSION,
          scheme: EXACT,
          network,
        })),
        extensions: [],
        signers: { 'eip155:*': [...new Set(signers)] },
      }
    },
  }
}

function announceRefusal(
  events: EventBus,
  { requirements, terms }: { requirements: PaymentRequirements; terms?: MerchantTerms | undefined },
  { refused, payer, transaction }: Refusal,
): void {
  const { network, asset, amount, payTo } = requirements
  const project = terms?.project
  const told = { network, asset, amount, payTo, payer, project }
  // Its transaction is out, by a process that may be dead: nobody has refused it.
  if (refused === 'settlement_pending' && transaction !== undefined)
    events.emit('pending', { ...told, transaction })
  else events.emit('refused', { ...told, reason: refused })
}

/** What the ledger knows a payment by. */
function keyOf(
  networks: LocalFacilitatorOptions['networks'],
  { payload, requirements }: PresentedPayment,
): AuthorizationKey | undefined {
  const wire = parseExactEvmPayload(payload.payload)
  const core = networks.get(findNetwork(requirements.network)?.caip2 ?? '')
  if (!wire.ok || core === undefined) return undefined
  const { chainId } = core.chain.network
  const asset = lowerHex(requirements.asset)
  return authorizationKey(parseAuthorization(wire.value.authorization), { chainId, asset })
}
