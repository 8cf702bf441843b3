import type { Submission } from '../../../../ledger/index.js'
import { isRefundEntry } from '../../../../ledger/refunds.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import { isNonceUsed, type Reason } from '../../../../shared/protocol/reasons.js'
import type { BatchMember } from '../../../relayer/transaction.js'
import { intrinsicGas } from '../../../chain/intrinsic-gas.js'
import { methodOf } from '../transfer-methods.js'
import { deployingCall } from '../verify/check-deployment.js'
import { findCaller } from '../network/find-caller.js'
import { endTransaction } from '../network/pending-payments.js'
import { checkOnChain, isFresh } from '../verify/check-on-chain.js'
import type { CheckedTransfer } from '../network/gas-limits.js'
import type { VerifiedPayment } from '../verify/verify.js'

export type PreparedTransfer = Pick<
  BatchMember,
  'call' | 'gas' | 'isAlone' | 'sender' | 'via' | 'gasShare' | 'recheck'
>

/** Thrown right before sending a transfer whose payer has changed since it was simulated. */
class PayerChanged extends Error {}

/**
 * Makes a transfer ready to be sent, and simulates it again if the last simulation is too old.
 *
 * @returns Why it would fail.
 */
export async function prepareTransfer(
  { network, asset, transfer, key, entry }: VerifiedPayment,
  known: CheckedTransfer | undefined,
): Promise<PreparedTransfer | Reason> {
  const isGood = known !== undefined && isFresh(network, known.simulation)
  const checked = isGood ? known : await checkOnChain(network, asset, transfer)
  const { facts } = transfer
  const method = methodOf(facts)
  if (checked === 'payer_temporarily_refused') {
    // While it waited for its turn, it may have been paid by the very transaction that failed the others of its payer.
    const found = await method.diagnose(network.chain, asset, transfer)
    return isNonceUsed(found) ? found : checked
  }
  if (typeof checked === 'string') return checked
  const named = method.callerOf?.(facts)
  const caller = named && (await findCaller(network, named))
  // It was one when the payment was verified.
  if (named !== undefined && caller === undefined) return 'upto_facilitator_mismatch'
  const sender = caller ? caller.sender : checked.sender
  const relayer = sender ?? network.relayers.addresses[0]
  const transferCall = method.call(transfer, { asset, from: named ?? relayer })
  const { deployment } = checked
  const othersEnd = deployment && network.deployments.claim(key, checked.simulation.at)
  if (othersEnd !== undefined) {
    await othersEnd
    throw new PayerChanged()
  }
  const call = deployment ? deployingCall(deployment, transferCall) : transferCall
  const measured = { call, token: asset.address, relayer }
  const limit =
    checked.limit ?? (await network.gasLimits.limitOf(facts, measured, checked.simulation))
  if (limit === 'reverts') return method.reasons.simulationFailed
  const mayCost = network.payers.take(key, checked, facts.validBefore)
  if (!mayCost) return 'payer_temporarily_refused'
  const via = caller?.executor && {
    address: caller.executor,
    callGas: limit.gas - intrinsicGas(call.data) - (limit.gasShare?.networkGas ?? 0n),
  }
  if (limit.isAlone) return { call, sender, via, ...limit }

  // It may have waited for its turn; if its payer has changed, the rest of the batch would suffer.
  const recheck = async (): Promise<void> => {
    if (isFresh(network, checked.simulation)) return
    const { codeHash, succeeds } = await network.simulator.simulate(transfer, asset)
    if (codeHash !== undefined || !succeeds) throw new PayerChanged()
  }
  // Whether a refund is sent again depends on its payment: no other transfer may have to wait with it.
  const isAlone = isRefundEntry(entry) || network.payers.places.mustGoAlone(facts.payer)
  return { call, sender, via, ...limit, isAlone, recheck }
}

/** How often a payer may change while its transfer waits to be sent. */
const MOST_CHANGES = 2

/** Sends a transfer; starts again from the beginning if its payer changes before it is sent. */
export async function withChangedPayer<Sent>(
  send: (checked: CheckedTransfer | undefined) => Promise<Sent>,
  checked: CheckedTransfer | undefined,
): Promise<Sent | Reason> {
  for (let changes = 0; changes <= MOST_CHANGES; changes++) {
    try {
      return await send(changes === 0 ? checked : undefined)
    } catch (error) {
      if (!(error instanceof PayerChanged)) throw error
    }
  }
  return 'invalid_exact_evm_transaction_simulation_failed'
}

/**
 * Sends a transfer whose transaction was mined without paying again, alone.
 *
 * Another member may have used up the gas of their batch. Its own payer has no code, so only the state
 * of the token decides about it now. Or it was to deploy its payer's account, and somebody else has done so.
 *
 * @param isOver - Whether nobody waits for it any more.
 * @returns The transaction that went out; nothing where it would fail again, or could not be sent.
 */
export async function sendAlone(
  payment: VerifiedPayment,
  isOver: () => boolean,
): Promise<Submission | undefined> {
  const { network, asset, transfer, key, entry } = payment
  const isOfFactory = network.payers.blamesFactory(key)
  const checked = await checkOnChain(network, asset, transfer)
  if (typeof checked === 'string' || checked.deployment !== undefined) return undefined
  if (checked.simulation.codeHash !== undefined && !isOfFactory) return undefined
  endTransaction(network, key)
  const hasWaited = await network.payers.places.take(entry, transfer.facts.validBefore, isOver)
  if (isOver()) return undefined
  const prepared = await prepareTransfer(payment, hasWaited ? undefined : checked)
  if (typeof prepared === 'string') return undefined
  /** Hashes of earlier transactions: should one be mined after all, it is still known as ours. */
  let givenUp: readonly Hex[] = []
  const sent = await network.relayers.send({
    key,
    charged: entry.charged,
    ...prepared,
    isAlone: true,
    toSubmission: (submission) => {
      if (givenUp.length === 0) return submission
      const replaces = new Set([...(submission.replaces ?? []), ...givenUp])
      replaces.delete(submission.transaction)
      return { ...submission, replaces: [...replaces] }
    },
    onWriteAhead: ({ transaction }) => {
      givenUp = [transaction, ...givenUp]
    },
  })
  return sent.submission
}
