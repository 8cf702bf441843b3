import type { Chain } from '../../../chain/chain.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { SettlementAsset } from '../network/settlement-asset.js'
import { balanceCall, clockCall, operatorCalls, operatorReason, wordOf } from '../reads.js'
import type { SignedTransfer } from '../transfer-method.js'
import { allowanceCall, isUsedIn, nonceBitmapCall } from './calls.js'
import { PERMIT2 } from './address.js'

/**
 * Finds out why Permit2 or a token refuses a transfer, in one request.
 *
 * Permit2 hides the errors of tokens behind one of its own, so the state they depend on is read instead.
 *
 * @throws {@link ChainError}
 */
export async function diagnosePermit(
  chain: Chain,
  { address }: SettlementAsset,
  { facts, signature }: SignedTransfer,
): Promise<Reason> {
  const { payer, payTo, amount, nonce, validAfter, validBefore } = facts
  const [bitmap, balance, allowance, clock, ...operator] = await chain.callMany([
    nonceBitmapCall({ contract: PERMIT2, from: payer, nonce }),
    balanceCall(address, payer),
    allowanceCall(address, payer),
    clockCall(),
    ...operatorCalls(address, payer, payTo),
  ])

  const bits = wordOf(bitmap)
  if (bits === undefined) return 'permit2_proxy_not_deployed'
  if (isUsedIn(bits, nonce)) return 'permit2_invalid_nonce'
  const funds = wordOf(balance)
  if (funds !== undefined && funds < amount) return 'permit2_insufficient_balance'
  // A chain's clock stands at its last block: behind ours, if none was mined for a while.
  const time = wordOf(clock)
  if (time !== undefined && time < validAfter) return 'permit2_not_yet_valid'
  if (time !== undefined && time > validBefore) return 'permit2_deadline_expired'
  const stopped = operatorReason(operator)
  if (stopped !== undefined) return stopped
  // If the payment brought an approval, that failed: its nonce was used, or its signature is not the payer's.
  const allowed = wordOf(allowance)
  if (allowed !== undefined && allowed < amount) return 'permit2_allowance_required'
  // A contract account's signature was not checked before: only its own code can do that.
  if (typeof signature === 'string') return 'invalid_permit2_signature'
  return 'permit2_simulation_failed'
}
