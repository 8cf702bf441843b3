import { z } from 'zod'
import type { LedgerStore, LedgerRecord, Submission } from '../ledger/ledger.js'
import type { RedeemWithoutProof } from '../ledger/purchase.js'
import type { Logger } from '../logger.js'
import { findNetwork } from '../protocol/networks.js'
import { withoutPaymentId } from '../protocol/payment-identifier.js'
import { parseExactEvmPayload } from '../protocol/payment.js'
import type {
  Address,
  Hex,
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
} from '../protocol/payment.js'
import {
  authorizationKey,
  displayAddress,
  lowerHex,
  parseAuthorization,
} from '../schemes/exact-evm/authorization.js'
import {
  checkBuyer,
  checkLedger,
  checkOffer,
  checkTerms,
  refusalDetails,
} from '../schemes/exact-evm/verify/checks.js'
import { authorizationDigest, domainSeparator } from '../schemes/exact-evm/verify/digest.js'
import { entryOf } from '../schemes/exact-evm/purchase.js'
import { parseEcdsaSignature, recoverSigner } from '../schemes/exact-evm/verify/signature.js'
import { settleReserved } from './facilitator.js'
import type { Facilitator, ReservingFacilitator } from './facilitator.js'
import type { MerchantTerms, Refusal, Reservation } from '../schemes/scheme.js'

/** Options of {@link createRemoteReservations}. */
export interface RemoteReservationOptions {
  /** Verifies and settles. */
  readonly facilitator: Facilitator
  readonly ledger: LedgerStore
  readonly logger: Logger
}

/**
 * Adds reservations to a facilitator that is elsewhere, or not ours.
 *
 * It verifies and settles; that a payment belongs to one request of ours is kept in a ledger here.
 */
export function createRemoteReservations(options: RemoteReservationOptions): ReservingFacilitator {
  const { facilitator, ledger, logger } = options

  /** Tells the ledger what is decided already: one that is away can no longer change it. */
  const note = async (written: Promise<unknown>): Promise<void> => {
    await written.catch((error: unknown) =>
      logger.error('The ledger missed what became of a payment.', { error }),
    )
  }

  /** Settles what this ledger holds for the caller, and writes down what came of it. */
  const settleHeld = async ({ entry, ask }: RemotePayment): Promise<SettleResponse> => {
    // Should this process end before the answer is here, its successor must know that it asked.
    await ledger.submit(entry, ASKED).catch(async (error: unknown) => {
      await note(ledger.release(entry))
      throw error
    })
    const answer = await ask().catch(async (error: unknown) => {
      // It may have settled: the same payment, presented again, asks anew.
      await note(ledger.unlock(entry))
      throw error
    })
    if (answer.success) await note(ledger.markSettled(entry, answer.transaction as Hex))
    else if (answer.errorReason === 'settlement_pending') await note(ledger.unlock(entry))
    else await note(ledger.withdraw(entry, ASKED.transaction))
    return answer
  }

  /**
   * Takes up a payment that was sent there before, and whose outcome was not known or whose payer
   * got nothing for it. Of many requests that present it at once, one gets it.
   */
  const redeem = async (
    payment: RemotePayment,
    record: LedgerRecord,
  ): Promise<Reservation | Refusal> => {
    const { entry, payer } = payment
    if (!(await ledger.relock(entry))) return { refused: 'duplicate_settlement', payer }
    const giveBack = (): Promise<void> => ledger.unlock(entry)
    // It may have changed before it was claimed.
    const claimed = await ledger.find(entry).catch(async (error: unknown) => {
      await note(giveBack())
      throw error
    })
    const refused = claimed && checkBuyer(claimed, payment)
    if (refused !== undefined) {
      await note(giveBack())
      return { refused, payer }
    }
    const answer = await outcomeOf(payment, claimed ?? record)
    if (!answer.success) {
      const { errorReason, transaction, settledBy } = answer
      return { refused: errorReason, payer, transaction: transaction || undefined, settledBy }
    }
    return {
      payer,
      settle: async () => answer,
      release: giveBack,
      markDelivered: () => ledger.markDelivered(entry),
      reopen: giveBack,
    }
  }

  const outcomeOf = async (
    payment: RemotePayment,
    record: LedgerRecord,
  ): Promise<SettleResponse> => {
    const { payer, network } = payment
    if (record.state === 'settled')
      return { success: true, transaction: record.transaction, network, payer }
    const ask = async (): Promise<SettleResponse> => {
      const answer = await payment.ask()
      // Our own first call settled it, though its answer was lost: this record was open, and the
      // facilitator names the transaction to nobody but the buyer of this very purchase.
      const settledBy =
        !answer.success && answer.errorReason === 'invalid_exact_evm_nonce_already_used'
          ? answer.settledBy
          : undefined
      if (settledBy) return { success: true, transaction: settledBy, network, payer }
      // Likewise it may be at work on that call still.
      const isAtWork = !answer.success && answer.errorReason === 'duplicate_settlement'
      return isAtWork ? { ...answer, errorReason: 'settlement_pending' } : answer
    }
    return settleHeld({ ...payment, ask })
  }

  const reserve: ReservingFacilitator['reserve'] = async (presented, requirements, terms) => {
    // Who asks again by an id is answered here: elsewhere it would make a payment good twice.
    const payload = namingResource(withoutPaymentId(presented), terms)
    const entry = readEntry(presented, requirements, terms)
    if ('refused' in entry) return entry
    const payer = displayAddress(entry.from)
    const { network } = requirements
    const ask = () => facilitator.settle(payload, requirements, terms)
    const redeemWithoutProof = terms?.redeemWithoutProof
    const payment = { entry, payer, network, ask, redeemWithoutProof }

    const record = await ledger.find(entry)
    if (record === undefined && terms?.purchase?.redeemOnly)
      return { refused: 'quote_expired', payer }
    const inTheWay = checkLedger(record, payment)
    if (inTheWay !== undefined) {
      const told = record && refusalDetails(record, payment, inTheWay)
      // Sent there, as far as is known here, though its transaction is not.
      const transaction = told?.transaction === ASKED.transaction ? '' : told?.transaction
      return { refused: inTheWay, payer, ...told, transaction }
    }
    // The facilitator takes a settled payment for a used one: whether its payer presents it is
    // for us to tell.
    if (record !== undefined && (await isSignedByPayer(payload, requirements)))
      return redeem(payment, record)
    const verified = await facilitator.verify(payload, requirements, terms)
    if (!verified.isValid) return { refused: verified.invalidReason, payer }

    if (record === undefined) {
      const other = await ledger.reserve(entry)
      if (other !== undefined)
        return { refused: checkLedger(other, payment) ?? 'duplicate_settlement', payer }
    } else if (!(await ledger.relock(entry))) return { refused: 'duplicate_settlement', payer }
    return {
      payer,
      settle: () => settleHeld(payment),
      release: () => ledger.release(entry),
      markDelivered: () => ledger.markDelivered(entry),
      reopen: () => ledger.unlock(entry),
    }
  }

  return {
    async verify(payload, requirements, terms) {
      const entry = readEntry(payload, requirements, terms)
      if ('refused' in entry) return { isValid: false, invalidReason: entry.refused }
      return facilitator.verify(withoutPaymentId(payload), requirements, terms)
    },
    reserve,
    async settle(payload, requirements, terms) {
      const reserved = await reserve(payload, requirements, terms)
      return settleReserved(reserved, requirements.network)
    },
    supported: () => facilitator.supported(),
  }
}

/** Stands for a transaction that only the facilitator knows. */
export const ASKED: Submission = {
  transaction: '0x',
  relayer: '0x',
  accountNonce: 0,
  raw: '0x',
}

/** The EIP-712 domain of a token, as an offer carries it. */
const eip712Schema = z.object({ name: z.string(), version: z.string() })

/** A payment that a facilitator elsewhere settles. */
interface RemotePayment {
  readonly entry: LocalEntry
  readonly redeemWithoutProof?: RedeemWithoutProof | undefined
  readonly payer: Address
  readonly network: string
  /** Asks for it to be settled. */
  readonly ask: () => Promise<SettleResponse>
}

/**
 * Tells whether the payer's own key signed a payment, by the domain in the merchant's offer.
 *
 * What a contract account signed cannot be told here.
 */
async function isSignedByPayer(
  payload: PaymentPayload,
  { network, asset, extra }: PaymentRequirements,
): Promise<boolean> {
  const wire = parseExactEvmPayload(payload.payload)
  const domain = eip712Schema.safeParse(extra)
  const chainId = findNetwork(network)?.chainId
  if (!wire.ok || !domain.success || chainId === undefined) return false
  const authorization = parseAuthorization(wire.value.authorization)
  const verifyingContract = lowerHex(asset)
  const separator = domainSeparator({ ...domain.data, chainId, verifyingContract })
  const signature = parseEcdsaSignature(lowerHex(wire.value.signature))
  if (signature === undefined) return false
  const signer = await recoverSigner(authorizationDigest(authorization, separator), signature)
  return signer === authorization.from
}

type LocalEntry = Parameters<LedgerStore['reserve']>[0]

function readEntry(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
  terms: MerchantTerms | undefined,
): LocalEntry | Refusal {
  const mismatch = checkOffer(payload, requirements) ?? (terms && checkTerms(requirements, terms))
  if (mismatch !== undefined) return { refused: mismatch }
  const wire = parseExactEvmPayload(payload.payload)
  if (!wire.ok) return { refused: 'invalid_payload' }
  const network = findNetwork(requirements.network)
  if (network === undefined) return { refused: 'invalid_network' }

  const authorization = parseAuthorization(wire.value.authorization)
  const asset = lowerHex(requirements.asset)
  const key = authorizationKey(authorization, { chainId: network.chainId, asset })
  return entryOf({ payload, terms, authorization, key })
}

/**
 * A payment that says what it is presented for: the facilitator elsewhere binds it to that, and takes
 * it for nothing else.
 */
function namingResource(payload: PaymentPayload, terms: MerchantTerms | undefined): PaymentPayload {
  const url = terms?.purchase?.url
  return url === undefined || payload.resource ? payload : { ...payload, resource: { url } }
}
