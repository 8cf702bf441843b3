import type { Reason } from '../../../protocol/reasons.js'
import type { GasLimit } from '../settle/gas-limits.js'
import type { TransferSimulation } from './simulate.js'
import type { SettlementNetwork, SettlementAsset } from '../settlement-network.js'
import { diagnoseTransfer, transferCall, type SignedTransfer } from '../erc3009.js'

/** Milliseconds after which a transfer that was found good is looked at once more before it is sent. */
const MAX_AGE_MS = 500

/** A transfer that the chain would make now. */
export interface CheckedTransfer {
  readonly simulation: TransferSimulation
  /** Of a payer with code, whose own transfer was asked for; others' limits come from the simulation. */
  readonly limit?: GasLimit | undefined
}

/**
 * Runs a transfer as the relayer would send it, without sending it.
 *
 * A payer with code is asked for by himself, with the fees and from the account that it will be sent
 * with, for his code may simulation at either; one that costs more than we pay is refused.
 *
 * @returns Why it would fail.
 * @throws {@link ChainError}
 */
export async function checkOnChain(
  core: SettlementNetwork,
  asset: SettlementAsset,
  transfer: SignedTransfer,
): Promise<CheckedTransfer | Reason> {
  const { chain, relayers, payers } = core
  const first = await core.simulate(transfer, asset.address)
  // One odd answer of a node does not make a token disappear.
  const simulation = first.isToken ? first : await core.simulate(transfer, asset.address)
  if (!simulation.isToken) return 'invalid_exact_evm_eip3009_not_supported'
  const { codeHash } = simulation
  const refused = payers.refusalOf(transfer.authorization.from, codeHash)
  if (refused !== undefined) return refused
  if (codeHash === undefined) {
    // Only an account's own code can accept what its key has not signed.
    if (typeof transfer.signature === 'string') return 'invalid_exact_evm_payload_signature'
    return simulation.succeeds ? { simulation } : diagnoseTransfer(chain, asset, transfer)
  }
  const limit = await core.gasLimits.estimate(
    transferCall(transfer, { asset, from: relayers.addresses[0] }),
  )
  if (limit === 'exceeds_cap') return 'settlement_too_expensive'
  if (limit === 'reverts') return diagnoseTransfer(chain, asset, transfer)
  return { simulation, limit }
}

/** Whether what a simulation found may still be relied on: it is not older than a block. */
export function isFresh(
  { blockMs }: SettlementNetwork,
  { at }: Pick<TransferSimulation, 'at'>,
): boolean {
  return performance.now() - at <= Math.min(MAX_AGE_MS, blockMs)
}
