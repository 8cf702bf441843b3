import { toFunctionSelector } from 'viem/utils'
import { addressWord } from '../../../chain/abi.js'
import type { Chain } from '../../../chain/chain.js'
import type { Call } from '../../../chain/types.js'
import type { Hex } from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { SettlementAsset } from '../network/settlement-asset.js'
import { balanceCall, clockCall, wordOf } from '../reads.js'
import type { SignedTransfer } from '../transfer-method.js'
import { allowanceCall, isUsedIn, nonceBitmapCall } from './calls.js'
import { PERMIT2 } from './address.js'

const PAUSED = toFunctionSelector('paused()')
const IS_BLACKLISTED = toFunctionSelector('isBlacklisted(address)')

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
  const ask = (data: Hex): Call => ({ to: address, data })
  const [bitmap, balance, allowance, clock, paused, payerBlocked, payeeBlocked] =
    await chain.callMany([
      nonceBitmapCall({ contract: PERMIT2, from: payer, nonce }),
      balanceCall(address, payer),
      allowanceCall(address, payer),
      clockCall(),
      // Circle's tokens have these; others may not.
      ask(PAUSED),
      ask(`${IS_BLACKLISTED}${addressWord(payer)}`),
      ask(`${IS_BLACKLISTED}${addressWord(payTo)}`),
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
  if (wordOf(paused) === 1n) return 'token_paused'
  if (wordOf(payerBlocked) === 1n) return 'payer_blacklisted'
  if (wordOf(payeeBlocked) === 1n) return 'pay_to_blacklisted'
  // A sponsored approval that was there has failed: its nonce was used, or it is not signed by the payer.
  const allowed = wordOf(allowance)
  if (allowed !== undefined && allowed < amount) return 'permit2_allowance_required'
  // A contract account's signature was not checked before: only its own code can do that.
  if (typeof signature === 'string') return 'invalid_permit2_signature'
  return 'permit2_simulation_failed'
}
