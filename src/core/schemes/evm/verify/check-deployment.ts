/** Payments of accounts that are deployed by the transaction that they pay in (ERC-6492). */
import { allOrNothing } from '../../../chain/abi.js'
import type { Call } from '../../../chain/types.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
import { methodOf } from '../transfer-methods.js'
import type { CheckedTransfer } from '../network/gas-limits.js'
import { factoryCodeHash } from '../network/payer-guard.js'
import type { SettlementAsset } from '../transfer/settlement-asset.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import type { TransferSimulation } from '../network/simulate.js'
import type { SignedTransfer } from '../transfer/transfer-method.js'
import { askAccount } from './signature.js'

type DeployingTransfer = SignedTransfer & { readonly deployment: Call }

/** The call that deploys an account and makes its transfer, or does nothing. */
export function deployingCall(deployment: Call, { from, ...transfer }: Call): Call {
  return { ...allOrNothing([deployment, transfer]), ...(from && { from }) }
}

/**
 * Runs the deployment of a payer's account and its transfer as the relayer would send them, without sending
 * them. Nothing of a factory that is not allowed reaches the node.
 *
 * What accounts cost us before they have code counts by their factory.
 *
 * @returns Why it would fail; `is_deployed` if the payer has code by now, and pays without a deployment.
 */
export async function checkDeployment(
  network: SettlementNetwork,
  asset: SettlementAsset,
  {
    transfer,
    simulation,
  }: { readonly transfer: DeployingTransfer; readonly simulation: TransferSimulation },
): Promise<CheckedTransfer | Reason | 'is_deployed'> {
  const { chain, relayers, payers, factories, gasLimits } = network
  const { facts, deployment } = transfer
  const method = methodOf(facts)
  const isAllowed = method.name === 'eip3009' && factories.has(deployment.to)
  if (!isAllowed || !(await chain.hasMulticall())) return 'eip6492_factory_not_allowed'
  const codeHash = factoryCodeHash(deployment.to)
  const refused = await payers.refusalOf(facts.payer, codeHash)
  if (refused !== undefined) return refused
  const sender = await relayers.chooseSender()
  const call = method.call(transfer, { asset, from: sender })
  const limit = await gasLimits.estimate(deployingCall(deployment, call))
  if (limit === 'exceeds_cap') return 'settlement_too_expensive'
  if (limit === 'reverts') {
    const isDeployed = (await chain.getCode(facts.payer)) !== '0x'
    return isDeployed ? 'is_deployed' : diagnose(network, asset, transfer)
  }
  return { simulation: { ...simulation, codeHash }, limit, sender, deployment }
}

/** Finds out whether the deployment fails, or the transfer after it. */
async function diagnose(
  { chain }: SettlementNetwork,
  asset: SettlementAsset,
  transfer: DeployingTransfer,
): Promise<Reason> {
  const { facts, signature, deployment } = transfer
  const method = methodOf(facts)
  if (typeof signature !== 'string') return method.reasons.badSignature
  const asked = { account: facts.payer, digest: method.digest(facts, asset), signature }
  const answer = await askAccount(chain, asked, deployment)
  if (answer === 'has_no_code') return 'smart_wallet_deployment_failed'
  return method.diagnose(chain, asset, transfer)
}
