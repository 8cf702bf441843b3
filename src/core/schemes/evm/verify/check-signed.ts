/** Whether a payment is signed by its payer, and its transfer would succeed. */
import { LRUCache } from 'lru-cache'
import { growingTo } from '../../../../shared/growing-to.js'
import { recordId } from '../../../../ledger/record.js'
import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
import { methodOf } from '../transfer-methods.js'
import type { SettlementAsset } from '../transfer/settlement-asset.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import { checkOnChain } from './check-on-chain.js'
import type { CheckedTransfer } from '../network/gas-limits.js'
import type { SignedTransfer, TransferSignature } from '../transfer/transfer-method.js'
import { isApproved, readSignature, unwrapErc6492 } from './signature.js'

/**
 * Remembers verified payments for a moment, by all that was verified: record (chain, contract, payer, nonce), digest,
 * signature and what that does not cover. Permit2's digest names no payer.
 */
export type RecentlyVerified = LRUCache<string, Found>

interface Found {
  readonly signature: TransferSignature
  readonly checked: CheckedTransfer
}

/** How long a verified payment may be reserved without verifying it again (ms). */
const RECENT_MS = 5000

/** Payments that are remembered at most: they take some 700 bytes each. */
const MOST_RECENT = 4000

export function createRecentlyVerified(): RecentlyVerified {
  return new LRUCache({ ...growingTo(MOST_RECENT), ttl: RECENT_MS })
}

interface UncheckedTransfer extends Pick<SignedTransfer, 'isRefund'> {
  readonly key: PaymentKey
  readonly facts: PaymentFacts
  readonly isSubmitted: boolean
  /** Whether it counts as good if it was verified a moment ago. */
  readonly trustRecent: boolean
}

/** A signature that is good, and what the chain said of its transfer, where it was asked. */
interface CheckedSignature extends Pick<SignedTransfer, 'signature' | 'deployment'> {
  readonly checked: CheckedTransfer | undefined
}

/** Checks a signature, and simulates the transfer unless its transaction is out already. */
export async function checkSigned(
  recent: RecentlyVerified,
  { network, asset }: { readonly network: SettlementNetwork; readonly asset: SettlementAsset },
  { key, facts, isRefund, isSubmitted, trustRecent }: UncheckedTransfer,
): Promise<CheckedSignature | Reason> {
  const { payer: account } = facts
  const method = methodOf(facts)
  const { badSignature } = method.reasons
  const signed = method.signatureOf(facts)
  const digest = method.digest(facts, asset)
  const id = [recordId(key), digest, signed, method.unsignedOf?.(facts)].join()
  const remembered = trustRecent ? recent.get(id) : undefined
  const unwrapped = unwrapErc6492(signed)
  if (unwrapped === undefined) return badSignature
  const { deployment } = unwrapped
  const signature =
    remembered?.signature ?? (await readSignature({ account, digest, ...unwrapped }))
  // Without a simulation, only the account itself can tell whether it signed this.
  if (isSubmitted && typeof signature === 'string') {
    if (!(await isApproved(network, { account, digest, signature, deployment })))
      return badSignature
  }
  // What is reserved is compared with its record from now on.
  if (remembered !== undefined) recent.delete(id)
  if (isSubmitted || remembered !== undefined)
    return { signature, deployment, checked: remembered?.checked }
  const checked = await checkOnChain(network, asset, { facts, isRefund, signature, deployment })
  if (typeof checked === 'string') return checked
  if (!trustRecent) recent.set(id, { signature, checked })
  return { signature, deployment, checked }
}
