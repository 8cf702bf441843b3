import { LRUCache } from 'lru-cache'
import { checksumAddress } from '../../../crypto/checksum-address.js'
import { ledgerEntryOf } from '../../../ledger/ledger-entry.js'
import type { AuthorizationKey, LedgerEntry, LedgerStore } from '../../../ledger/ledger.js'
import type { PresentedPurchase } from '../../../ledger/purchase.js'
import { isAuthorized, type Payment } from '../../../protocol/decoded-payment.js'
import type { SignedAuthorization } from '../../../protocol/decoded-payment.js'
import { lowerHex } from '../../../protocol/hex.js'
import type { Address } from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'
import { checkRecord, refusalDetails } from '../../check-record.js'
import {
  checkTerms,
  type MerchantTerms,
  type PresentedPayment,
  type Refusal,
} from '../../scheme.js'
import type { SettlementAsset, SignedTransfer, TransferSignature } from '../erc3009.js'
import type { SettlementNetwork } from '../settlement-network.js'
import { checkOnChain } from './check-on-chain.js'
import type { CheckedTransfer } from './checked-transfer.js'
import {
  checkTimeWindow,
  checkTransfer,
  settleMarginSeconds,
  usualValiditySeconds,
} from './checks.js'
import { isSignedByContract, type AccountSignature } from './contract-signature.js'
import { authorizationDigest } from './digest.js'
import { isErc6492, parseEcdsaSignature, recoverSigner } from './signature.js'

/** What verifying a payment takes; time and chain are passed in. */
export interface VerifyContext {
  /** By CAIP-2 id. */
  readonly networks: ReadonlyMap<string, SettlementNetwork>
  readonly ledger: LedgerStore
  /** Unix time in seconds. */
  readonly nowSeconds: () => bigint
  /** Payments that were just verified. */
  readonly recent: RecentlyVerified
}

/** Remembers verified payments for a moment, by digest and signature. */
export type RecentlyVerified = LRUCache<string, Found>

/** What was found of a verified payment. */
interface Found {
  readonly signature: TransferSignature
  readonly checked: CheckedTransfer
}

/** Milliseconds within which a payment that was verified is reserved without verifying it again. */
const RECENT_MS = 5000

/** Remembers what was verified lately. */
export function createRecentlyVerified(): RecentlyVerified {
  return new LRUCache({ max: 10_000, ttl: RECENT_MS })
}

/** A payment that could be settled now. */
export interface VerifiedPayment {
  readonly core: SettlementNetwork
  readonly asset: SettlementAsset
  readonly payment: Payment
  readonly terms: MerchantTerms | undefined
  /** With its checksum. */
  readonly payer: Address
  readonly transfer: SignedTransfer
  readonly key: AuthorizationKey
  /** What the ledger keeps of it. */
  readonly entry: LedgerEntry
  /** Whether its transaction is out already: nothing will be sent for it. */
  readonly isSubmitted: boolean
  /** What the chain said of its transfer; absent where its transaction is out already. */
  readonly checked: CheckedTransfer | undefined
}

/**
 * Verifies a payment; cheap checks go before expensive ones, and each fails with one reason.
 *
 * A payment whose transaction is out, but whose payer got nothing for it yet, is good: its signature is
 * checked, its transfer is not simulated again.
 *
 * @throws {@link ChainError} when the network could not be asked, {@link LedgerError} when the ledger
 * could not.
 */
export async function verifyPayment(
  context: VerifyContext,
  presented: PresentedPayment,
): Promise<VerifiedPayment | Refusal> {
  const { payment, terms, purpose } = presented
  if (!isAuthorized(payment)) return { refused: 'invalid_payload' }
  const { requirements, key, network } = payment
  const { authorization } = payment.signed.value
  const payer = checksumAddress(authorization.from)
  const refuse = (refused: Reason): Refusal => ({ refused, payer })

  const core = context.networks.get(network?.caip2 ?? '')
  if (core === undefined) return refuse('invalid_network')
  const asset = core.assets.get(lowerHex(requirements.asset))
  if (asset === undefined) return refuse('unsupported_asset')
  const mismatch =
    (terms && checkTerms(requirements, terms)) ?? checkTransfer(authorization, requirements)
  if (mismatch !== undefined) return refuse(mismatch)

  const record = await context.ledger.find(key)
  // A transaction that is out decides for itself whether it was in time.
  const time = { now: context.nowSeconds(), validitySeconds: validityOf(presented, core) }
  const late = record === undefined ? checkTimeWindow(authorization, time) : undefined
  if (late !== undefined) return refuse(late)
  if (record === undefined && terms?.purchase?.redeemOnly) return refuse('quote_expired')
  const entry = ledgerEntryOf(payment, terms)
  const purchase = { entry, redeemWithoutProof: terms?.redeemWithoutProof }
  const known = checkRecord(record, purchase)
  if (known !== undefined)
    return { ...refuse(known), ...(record && refusalDetails(record, purchase, known)) }

  const isSubmitted = record !== undefined
  const signed = { ...payment.signed.value, isSubmitted, trustRecent: purpose !== 'verify' }
  const found = await checkSigned(context, { core, asset }, signed)
  if (typeof found === 'string') return refuse(found)
  const transfer = { authorization, signature: found.signature }
  const { checked } = found
  return { core, asset, payment, terms, payer, transfer, key, entry, isSubmitted, checked }
}

/** How a record is compared with a verified payment. */
export function purchaseOf({ entry, terms }: VerifiedPayment): PresentedPurchase {
  return { entry, redeemWithoutProof: terms?.redeemWithoutProof }
}

/** Seconds for which an authorization must still be valid: to be settled, and for a handler before. */
function validityOf(
  { payment, terms, purpose }: PresentedPayment,
  { chain }: SettlementNetwork,
): number {
  const margin = settleMarginSeconds(chain.network)
  if (purpose === 'settle') return margin
  const { maxTimeoutSeconds } = payment.requirements
  return Math.max(margin, terms?.minValiditySeconds ?? usualValiditySeconds(maxTimeoutSeconds))
}

/** An authorization whose signature is to be checked. */
interface UncheckedTransfer extends Pick<SignedAuthorization, 'authorization' | 'signature'> {
  /** Whether its transaction is out already. */
  readonly isSubmitted: boolean
  /** Whether it counts as good if it was verified a moment ago. */
  readonly trustRecent: boolean
}

/**
 * Checks a signature, and simulates the transfer unless its transaction is out already.
 *
 * @throws {@link ChainError}
 */
async function checkSigned(
  { recent }: VerifyContext,
  { core, asset }: Pick<VerifiedPayment, 'core' | 'asset'>,
  { authorization, signature: signed, isSubmitted, trustRecent }: UncheckedTransfer,
): Promise<(Pick<VerifiedPayment, 'checked'> & Pick<SignedTransfer, 'signature'>) | Reason> {
  const { from: account } = authorization
  const digest = authorizationDigest(authorization, asset.separator)
  const remembered = trustRecent ? recent.get(digest + signed) : undefined
  const signature =
    remembered?.signature ?? (await readSignature({ account, digest, signature: signed }))
  if (signature === 'eip6492_factory_not_allowed') return signature
  // Without a simulation, only the account itself can tell whether it signed this.
  if (isSubmitted && typeof signature === 'string') {
    const isOwn = await isSignedByContract(core.chain, { account, digest, signature })
    if (!isOwn) return 'invalid_exact_evm_payload_signature'
  }
  if (isSubmitted || remembered !== undefined) return { signature, checked: remembered?.checked }
  const checked = await checkOnChain(core, asset, { authorization, signature })
  if (typeof checked === 'string') return checked
  recent.set(digest + signed, { signature, checked })
  return { signature, checked }
}

/**
 * Reads a signature in the form that its token takes.
 *
 * One that the payer's own key did not make is left whole: if the payer has code, that decides
 * (ERC-1271).
 */
async function readSignature({
  account,
  digest,
  signature,
}: AccountSignature): Promise<TransferSignature | 'eip6492_factory_not_allowed'> {
  if (isErc6492(signature)) return 'eip6492_factory_not_allowed'
  const ecdsa = parseEcdsaSignature(signature)
  const signer = ecdsa && (await recoverSigner(digest, ecdsa))
  return ecdsa !== undefined && signer === account ? ecdsa : signature
}
