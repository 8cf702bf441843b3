import { LRUCache } from 'lru-cache'
import type {
  AuthorizationKey,
  LedgerStore,
  LedgerEntry,
  LedgerRecord,
} from '../../../ledger/ledger.js'
import type { PresentedPurchase } from '../../../ledger/purchase.js'
import { findNetwork } from '../../../protocol/networks.js'
import { parseExactEvmPayload } from '../../../protocol/payment.js'
import type {
  Address,
  Hex,
  PaymentPayload,
  PaymentRequirements,
} from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { MerchantTerms, Refusal } from '../../scheme.js'
import { authorizationKey, displayAddress, lowerHex, parseAuthorization } from '../authorization.js'
import type { Authorization } from '../authorization.js'
import {
  checkLedger,
  checkOffer,
  checkTerms,
  checkTimeWindow,
  checkTransfer,
  settleMarginSeconds,
  refusalDetails,
  usualValiditySeconds,
} from './checks.js'
import { entryOf } from '../purchase.js'
import { isSignedByContract } from './contract-signature.js'
import { authorizationDigest } from './digest.js'
import type { SettlementNetwork, SettlementAsset } from '../settlement-network.js'
import { isErc6492, parseEcdsaSignature, recoverSigner } from './signature.js'
import { checkOnChain, type CheckedTransfer } from './check-on-chain.js'
import type { SignedTransfer, TransferSignature } from '../erc3009.js'

/** What examining a payment takes; time and chain are passed in. */
export interface VerifyContext {
  /** By CAIP-2 id. */
  readonly networks: ReadonlyMap<string, SettlementNetwork>
  readonly ledger: LedgerStore
  /** Unix time in seconds. */
  readonly now: () => bigint
  /** Payments that were just found good. */
  readonly recent: RecentlyVerified
}

/** Remembers for a moment what was found good, by its digest and signature. */
export type RecentlyVerified = LRUCache<string, Found>

/** What was found of a payment that is good. */
interface Found {
  readonly signature: TransferSignature
  readonly checked: CheckedTransfer
}

/** Milliseconds for which a payment that was verified is settled without verifying it again. */
const RECENT_MS = 5000

/** Remembers what was verified lately. */
export function createRecentlyVerified(): RecentlyVerified {
  return new LRUCache({ max: 10_000, ttl: RECENT_MS })
}

/** A payment as it is presented. */
export interface PresentedPayment {
  readonly payload: PaymentPayload
  readonly requirements: PaymentRequirements
  readonly terms?: MerchantTerms | undefined
  /** Whether it is settled at once: no handler runs before. */
  readonly isSettledNow?: boolean | undefined
  /** Whether it may be taken for good because it was found so a moment ago. */
  readonly trustRecent?: boolean | undefined
}

/** A payment that could be settled now. */
export interface VerifiedPayment {
  readonly core: SettlementNetwork
  readonly asset: SettlementAsset
  /** With its checksum. */
  readonly payer: Address
  readonly transfer: SignedTransfer
  readonly key: AuthorizationKey
  /** What the ledger keeps of it. */
  readonly entry: LedgerEntry
  readonly requirements: PaymentRequirements
  readonly terms: MerchantTerms | undefined
  /** Whether its transaction is out already: nothing will be sent for it. */
  readonly isSubmitted: boolean
  /** What the chain said of its transfer; it was not asked of one whose transaction is out. */
  readonly checked: CheckedTransfer | undefined
}

/**
 * Examines a payment, cheap checks before dear ones; each fails with one reason.
 *
 * A payment whose transaction is already out, but whose payer got nothing for it yet, is good: its
 * signature is checked, its transfer no longer simulated.
 *
 * @throws {@link ChainError} when the network could not be asked, {@link LedgerError} likewise.
 */
export async function verifyPayment(
  context: VerifyContext,
  payment: PresentedPayment,
): Promise<VerifiedPayment | Refusal> {
  const { payload, requirements, terms, trustRecent } = payment
  const offer = checkOffer(payload, requirements)
  if (offer !== undefined) return { refused: offer }

  const wire = parseExactEvmPayload(payload.payload)
  if (!wire.ok) return { refused: 'invalid_payload' }
  const authorization = parseAuthorization(wire.value.authorization)
  const payer = displayAddress(authorization.from)
  const refuse = (refused: Reason): Refusal => ({ refused, payer })

  const core = context.networks.get(findNetwork(requirements.network)?.caip2 ?? '')
  if (core === undefined) return refuse('invalid_network')
  const asset = core.assets.get(lowerHex(requirements.asset))
  if (asset === undefined) return refuse('unsupported_asset')

  const mismatch =
    (terms && checkTerms(requirements, terms)) ?? checkTransfer(authorization, requirements)
  if (mismatch !== undefined) return refuse(mismatch)

  const { chainId } = core.chain.network
  const key = authorizationKey(authorization, { chainId, asset: asset.address })
  const record = await context.ledger.find(key)
  // A transaction that is out decides for itself whether it was in time.
  const time = { now: context.now(), validitySeconds: validityOf(payment, core) }
  const late = record === undefined ? checkTimeWindow(authorization, time) : undefined
  if (late !== undefined) return refuse(late)
  if (record === undefined && terms?.purchase?.redeemOnly) return refuse('quote_expired')
  const entry = entryOf({ payload, terms, authorization, key })
  const presented = { entry, redeemWithoutProof: terms?.redeemWithoutProof }
  const known = checkLedger(record, presented)
  if (known !== undefined)
    return { ...refuse(known), ...(record && refusalDetails(record, presented, known)) }

  const digest = authorizationDigest(authorization, asset.separator)
  const signed = lowerHex(wire.value.signature)
  const remembered = trustRecent ? context.recent.get(digest + signed) : undefined
  const isSubmitted = record !== undefined
  const signature =
    remembered?.signature ?? (await readSignature({ authorization, digest, signed }))
  if (signature === 'eip6492_factory_not_allowed') return refuse(signature)

  const transfer = { authorization, signature }
  // The transfer is not simulated again: only the account can tell whether it signed this.
  if (isSubmitted && typeof signature === 'string') {
    const isOwn = await isSignedByContract(core.chain, { account: payer, digest, signature })
    if (!isOwn) return refuse('invalid_exact_evm_payload_signature')
  }
  const examined = { core, asset, payer, transfer, key, entry, requirements, terms, isSubmitted }
  if (isSubmitted || remembered !== undefined) return { ...examined, checked: remembered?.checked }
  const checked = await checkOnChain(core, asset, transfer)
  if (typeof checked === 'string') return refuse(checked)
  context.recent.set(digest + signed, { signature, checked })
  return { ...examined, checked }
}

/** Seconds that an authorization must live on: to be settled, and for a handler to run before. */
function validityOf(
  { requirements, terms, isSettledNow }: PresentedPayment,
  { chain }: SettlementNetwork,
): number {
  const margin = settleMarginSeconds(chain.network)
  if (isSettledNow) return margin
  const wanted = terms?.minValiditySeconds ?? usualValiditySeconds(requirements.maxTimeoutSeconds)
  return Math.max(margin, wanted)
}

/** How an examined payment is held against what the ledger knows. */
export function presentedOf({ entry, terms }: VerifiedPayment): PresentedPurchase {
  return { entry, redeemWithoutProof: terms?.redeemWithoutProof }
}

/** The transaction that a record knows of. */
export function transactionOf(record: LedgerRecord): Hex | undefined {
  switch (record.state) {
    case 'reserved':
      return undefined
    case 'submitted':
      return record.submission.transaction
    case 'settled':
    case 'failed':
      return record.transaction
  }
}

/**
 * Reads a signature in the form that its token takes.
 *
 * One that is not the payer's own key is left whole: where the payer has code, that decides (ERC-1271).
 */
async function readSignature({
  authorization,
  digest,
  signed,
}: {
  readonly authorization: Authorization
  readonly digest: Hex
  readonly signed: Hex
}): Promise<TransferSignature | 'eip6492_factory_not_allowed'> {
  if (isErc6492(signed)) return 'eip6492_factory_not_allowed'
  const ecdsa = parseEcdsaSignature(signed)
  const signer = ecdsa && (await recoverSigner(digest, ecdsa))
  return ecdsa !== undefined && signer === authorization.from ? ecdsa : signed
}
