import type { Reason } from '../../../../shared/protocol/reasons.js'
import { sameHex } from '../../../../shared/protocol/hex.js'
import { methodOf } from '../transfer-methods.js'
import type { SettlementAsset } from '../transfer/settlement-asset.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import type { CheckedTransfer } from '../network/gas-limits.js'
import type { TransferSimulation } from '../network/simulate.js'
import type { SignedTransfer } from '../transfer/transfer-method.js'
import { checkDeployment } from './check-deployment.js'
import { askAccount, joinSignature } from './signature.js'
import { world } from '../../../../shared/world.js'

/** How old a simulation may be when its transfer is sent (ms). */
const MAX_AGE_MS = 500

/**
 * Runs a transfer as the relayer would send it, without sending it.
 *
 * The transfer of a payer with code is estimated alone, with the fees and from the account that it will
 * be sent with, because the code may look at either. One that costs more than we pay is refused.
 *
 * @returns Why it would fail.
 */
export async function checkOnChain(
  network: SettlementNetwork,
  asset: SettlementAsset,
  transfer: SignedTransfer,
): Promise<CheckedTransfer | Reason> {
  const { chain, relayers, payers, simulator } = network
  const { facts } = transfer
  const method = methodOf(facts)
  const first = await simulator.simulate(transfer, asset)
  // One wrong answer of a node does not make a token disappear.
  const simulation = first.isToken ? first : await simulator.simulate(transfer, asset)
  if (!simulation.isToken)
    return simulation.balance === undefined ? method.reasons.noToken : method.reasons.notDeployed
  const { codeHash } = simulation
  const { deployment } = transfer
  if (codeHash === undefined && deployment !== undefined) {
    const deploying = { transfer: { ...transfer, deployment }, simulation }
    const checked = await checkDeployment(network, asset, deploying)
    if (checked !== 'is_deployed') return checked
    return checkOnChain(network, asset, { ...transfer, deployment: undefined })
  }
  const refused = await payers.refusalOf(facts.payer, codeHash, transfer.isRefund)
  if (refused !== undefined) return refused
  if (codeHash === undefined) {
    // Only an account's own code can accept what its key has not signed.
    if (typeof transfer.signature === 'string') return method.reasons.badSignature
    return simulation.succeeds ? { simulation } : method.diagnose(chain, asset, transfer)
  }
  const sender = method.callerOf?.(facts) ?? (await relayers.chooseSender())
  const isSender = relayers.addresses.some((one) => sameHex(one, sender))
  const call = method.call(transfer, { asset, from: sender })
  const limit = await network.gasLimits.estimate(call, { isSender })
  if (limit === 'exceeds_cap') return 'settlement_too_expensive'
  if (limit === 'reverts') return diagnoseOfCode(network, asset, transfer)
  return { simulation, limit, sender }
}

/** Finds out why a transfer would fail whose payer has code. A key's signature may be good, and the code refuse it (EIP-7702). */
async function diagnoseOfCode(
  { chain }: SettlementNetwork,
  asset: SettlementAsset,
  transfer: SignedTransfer,
): Promise<Reason> {
  const { facts, signature } = transfer
  const method = methodOf(facts)
  const { simulationFailed, badSignature } = method.reasons
  const reason = await method.diagnose(chain, asset, transfer)
  if (reason !== simulationFailed || typeof signature === 'string') return reason
  const digest = method.digest(facts, asset)
  const asked = { account: facts.payer, digest, signature: joinSignature(signature) }
  return (await askAccount(chain, asked)) === 'refuses' ? badSignature : reason
}

/** Whether a simulation still counts: it is not older than a block. */
export function isFresh(
  { blockMs }: SettlementNetwork,
  { at }: Pick<TransferSimulation, 'at'>,
): boolean {
  return world.elapsed() - at <= Math.min(MAX_AGE_MS, blockMs)
}
