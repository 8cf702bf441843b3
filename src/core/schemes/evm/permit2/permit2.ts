/** Tokens that Permit2 moves: x402's spender calls it with a payer's signature. */
import { LRUCache } from 'lru-cache'
import { growingTo } from '../../../../shared/growing-to.js'
import type { Chain } from '../../../chain/chain.js'
import type { FoundTransaction } from '../../../chain/types.js'
import { amountOf, recordId } from '../../../../ledger/record.js'
import { sameHex } from '../../../../shared/protocol/hex.js'
import { EXACT } from '../../../../shared/protocol/payment.js'
import { diagnoseTransfer } from '../diagnose.js'
import { wordOf } from '../transfer/reads.js'
import type { TransferMethod } from '../transfer/transfer-method.js'
import { allowanceCall, isUsedIn, nonceBitmapCall, readSettleCall, settleCall } from './calls.js'
import { EXACT_SPENDER, findSpender, spenderOf, UPTO_SPENDER } from './contracts.js'
import { permitDigest } from './digest.js'
import { findTransfers } from './find-transfers.js'
import { judgePermit } from './judge.js'
import { signedPermitOf } from './payload.js'
import { approvalOf, checkApproval } from './sponsored-approval.js'
import { world } from '../../../../shared/world.js'

/** Transfers that one search looks at, newest first. The next one goes on with those before. */
const MOST_TRANSFERS = 100

/** Transactions that are remembered not to be a payment's. */
const MOST_RULED_OUT = 100_000

/** How long nothing must have been found until that counts as the answer (ms): the node may lag behind. */
export const BELIEVED_AFTER_MS = 3000

/** By node and record: when it was first searched for (`world.elapsed()`). One node's lag says nothing of another. */
const searches = new WeakMap<Chain, LRUCache<string, number>>()

/** Whether it may have paid nevertheless, by record and what it was to move, transaction and block. */
const ruledOut = new LRUCache<string, boolean>(growingTo(MOST_RULED_OUT))

export const permit2: TransferMethod = {
  name: 'permit2',
  reasons: {
    used: 'permit2_invalid_nonce',
    badSignature: 'invalid_permit2_signature',
    tooEarly: 'permit2_not_yet_valid',
    tooLate: 'permit2_deadline_expired',
    notCovered: 'permit2_insufficient_balance',
    notAllowed: 'permit2_allowance_required',
    noToken: 'asset_not_deployed_contract',
    notDeployed: 'permit2_proxy_not_deployed',
    simulationFailed: 'permit2_simulation_failed',
  },
  takes: () => true,
  signatureOf: (facts) => signedPermitOf(facts).signature,
  unsignedOf(facts) {
    const approval = approvalOf(facts)
    return approval ? `${approval.deadline}:${Object.values(approval.signature).join()}` : ''
  },
  checkUnsignedTime(facts, until) {
    const approval = approvalOf(facts)
    return approval && approval.deadline < until ? 'eip2612_deadline_expired' : undefined
  },
  bringsAllowance: (facts) => approvalOf(facts) !== undefined,
  checkTerms(facts, requirements) {
    const permit = signedPermitOf(facts)
    const { scheme, asset, payTo, amount } = requirements
    const { address, isMetered } = scheme === EXACT ? EXACT_SPENDER : UPTO_SPENDER
    if (permit.spender !== address) return 'invalid_permit2_spender'
    if (isMetered && permit.facilitator === undefined) return 'upto_facilitator_mismatch'
    if (!sameHex(permit.token, asset)) return 'permit2_token_mismatch'
    if (!sameHex(facts.payTo, payTo)) return 'invalid_permit2_recipient_mismatch'
    if (facts.amount !== BigInt(amount)) return 'permit2_amount_mismatch'
    return checkApproval(facts)
  },
  digest: (facts, { permit2Separator }) => permitDigest(facts, permit2Separator),
  call: (transfer, { from }) => ({ ...settleCall(transfer), ...(from && { from }) }),
  callerOf(facts) {
    const permit = signedPermitOf(facts)
    return spenderOf(permit).isMetered ? permit.facilitator : undefined
  },
  callerIn: (call) => readSettleCall(call)?.facilitator,
  stateCall: nonceBitmapCall,
  isUsed(result, { nonce }) {
    const bits = wordOf(result)
    return bits === undefined ? undefined : isUsedIn(bits, nonce)
  },
  diagnose: (chain, asset, transfer) =>
    diagnoseTransfer(chain, transfer, {
      method: permit2,
      asset,
      edge: 0n,
      own: allowanceCall(asset.address, transfer.facts.payer),
      // If the payment brought an approval, that failed: its nonce was used, or its signature is not the payer's.
      judgeOwn(answer) {
        const allowed = wordOf(answer) ?? transfer.facts.amount
        return allowed < transfer.facts.amount ? 'permit2_allowance_required' : undefined
      },
    }),
  judge: judgePermit,
  // Permit2 logs no use. Only a direct call of a spender that succeeded has certainly made one.
  usedIn: ({ succeeded, to }) => succeeded && findSpender(to) !== undefined,
  async findUses(chain, payment) {
    const id = recordId(payment)
    const moved = `${payment.asset} ${payment.payTo} ${amountOf(payment)}`
    const nameOf = ({ transaction, blockHash }: FoundTransaction): string =>
      `${id} ${moved} ${transaction} ${blockHash}`.toLowerCase()
    const { transactions, isWhole } = await findTransfers(chain, payment)
    const left = transactions.filter((one) => !ruledOut.has(nameOf(one))).toReversed()
    const isBelievable = isBelieved(chain, id)
    return {
      transactions: left.slice(0, MOST_TRANSFERS).map(({ transaction }) => transaction),
      isComplete: isWhole && left.length <= MOST_TRANSFERS && isBelievable,
      ruleOut: (receipt, mayHavePaid) => void ruledOut.set(nameOf(receipt), mayHavePaid),
      mayHavePaid: () =>
        transactions.filter((one) => ruledOut.get(nameOf(one))).map((one) => one.transaction),
    }
  },
  pays(call, { from, nonce }) {
    const settled = readSettleCall(call)
    return settled !== undefined && sameHex(settled.payer, from) && sameHex(settled.nonce, nonce)
  },
}

function isBelieved(chain: Chain, id: string): boolean {
  const now = world.elapsed()
  const since = searches.get(chain) ?? new LRUCache({ ...growingTo(10_000), ttl: 600_000 })
  searches.set(chain, since)
  const first = since.get(id) ?? now
  if (first === now) since.set(id, now)
  return now - first >= BELIEVED_AFTER_MS
}
