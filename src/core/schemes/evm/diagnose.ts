import type { Chain } from '../../chain/chain.js'
import type { Call, CallResult } from '../../chain/types.js'
import type { Reason } from '../../../shared/protocol/reasons.js'
import type { SettlementAsset } from './transfer/settlement-asset.js'
import { balanceCall, clockCall, operatorCalls, operatorReason, wordOf } from './transfer/reads.js'
import type { SignedTransfer, TransferMethod } from './transfer/transfer-method.js'

/** A way of moving a token, as it is diagnosed. */
interface Diagnosed {
  readonly method: TransferMethod
  readonly asset: SettlementAsset
  /** Seconds that the window of a payment is shorter at each end than its times say. */
  readonly edge: bigint
  /** A call that this way alone needs. */
  readonly own: Call
  /** Reads its answer: why the transfer fails, if that is why. */
  readonly judgeOwn: (answer: CallResult | undefined) => Reason | undefined
}

/**
 * Finds out why a transfer would fail, in one request.
 *
 * Each token words its reverts in its own way, and Permit2 hides them behind one of its own: the state that they
 * depend on is read instead.
 */
export async function diagnoseTransfer(
  chain: Chain,
  { facts, signature }: SignedTransfer,
  { method, asset: { address }, edge, own, judgeOwn }: Diagnosed,
): Promise<Reason> {
  const { payer: from, payTo, amount, nonce, validAfter, validBefore } = facts
  const { reasons } = method
  const key = { chainId: chain.network.chainId, contract: facts.contract ?? address, from, nonce }
  const [state, balance, clock, answer, ...operator] = await chain.callMany([
    method.stateCall(key),
    balanceCall(address, from),
    clockCall(),
    own,
    ...operatorCalls(address, from, payTo),
  ])

  const isUsed = method.isUsed(state, key)
  if (isUsed === undefined) return reasons.notDeployed
  if (isUsed) return reasons.used
  const funds = wordOf(balance)
  if (funds !== undefined && funds < amount) return reasons.notCovered
  // A chain's clock stands at its last block: behind ours, if none was mined for a while.
  const time = wordOf(clock)
  if (time !== undefined && time < validAfter + edge) return reasons.tooEarly
  if (time !== undefined && time > validBefore - edge) return reasons.tooLate
  const why = operatorReason(operator) ?? judgeOwn(answer)
  if (why !== undefined) return why
  // A contract account's signature was not checked before: only its own code can do that.
  return typeof signature === 'string' ? reasons.badSignature : reasons.simulationFailed
}
