import { formatEther } from 'viem/utils'
import { RpcChain } from '../../core/chain/chain.js'
import { DEPLOYER, executorOf, type ExecutorContract } from '../../core/chain/executor.js'
import type { Receipt } from '../../core/chain/types.js'
import type { ResolvedNetwork } from '../config/resolve/networks.js'
import type { LedgerStore } from '../../ledger/index.js'
import type { Logger } from '../../shared/logger.js'
import { sameHex } from '../../shared/protocol/hex.js'
import { gasTokenOf } from '../../shared/protocol/networks.js'
import { percent } from '../../core/relayer/batch-gas.js'
import { RelayerPool } from '../../core/relayer/pool.js'
import { world } from '../../shared/world.js'

/** Gas limit of the deployment, in percent of its estimate. */
const HEADROOM_PERCENT = 110n

/** How long the deployment may take to be mined (ms). */
const MINED_MS = 120_000

/** How long another node may take to have the block of the deployment (ms), and how often it is asked. */
const SEEN_MS = { most: 10_000, pause: 500 }

/** Dependencies of {@link deployExecutor}. */
export interface DeploymentParts {
  /** Hands out the relayer's account nonce: a gateway may run beside this. */
  readonly ledger: LedgerStore
  readonly logger: Logger
  readonly signal: AbortSignal
  /** Called with each step, for people. */
  readonly tell: (line: string) => void
}

/**
 * Deploys the executor of a network's relayers, unless it is there, and checks its code.
 *
 * @throws Error, whose message is for the operator.
 */
export async function deployExecutor(
  { network, core }: ResolvedNetwork,
  parts: DeploymentParts,
): Promise<void> {
  const [firstKey, ...otherKeys] = core?.relayerKeys ?? []
  if (core === undefined || firstKey === undefined) throw new Error('needs rpcUrl and relayerKeys.')
  const chain = new RpcChain({ network, rpcUrl: core.rpcUrl })
  const closing = new AbortController()
  const pool = new RelayerPool({
    ...core,
    ...parts,
    chain,
    privateKeys: [firstKey, ...otherKeys],
    closed: AbortSignal.any([parts.signal, closing.signal]),
  })
  const contract = executorOf(pool.addresses)
  const deployment = { ...parts, ...contract, chain, pool }
  try {
    await chain.checkId()
    if (await isDeployed(deployment))
      return parts.tell(`executor ${contract.address} is there already.`)
    await requireDeployer(deployment)
    const receipt = await deploy(deployment)
    await untilDeployed(deployment, receipt)
    const { gasUsed, gasPrice } = receipt
    const cost = `${formatEther(gasUsed * gasPrice)} ${gasTokenOf(network)}`
    parts.tell(`executor ${contract.address} is deployed, for ${gasUsed} gas (${cost}).`)
  } finally {
    closing.abort()
  }
}

interface Deployment extends DeploymentParts, ExecutorContract {
  readonly chain: RpcChain
  readonly pool: RelayerPool
}

/** @throws Error if something else is at its address. */
async function isDeployed({ chain, address, code }: Deployment): Promise<boolean> {
  const found = await chain.getCode(address)
  if (found === '0x' || sameHex(found, code)) return found !== '0x'
  throw new Error(`${address} is another contract. Check that rpcUrl is a node of this network.`)
}

/** @throws Error if the network has no deterministic deployer, or it would deploy somewhere else. */
async function requireDeployer({ chain, address, deployment }: Deployment): Promise<void> {
  if ((await chain.getCode(DEPLOYER)) === '0x')
    throw new Error(
      `this network has no deterministic deployer at ${DEPLOYER}. Deploy it (github.com/Arachnid/deterministic-deployment-proxy), or turn executor off.`,
    )
  const { ok, data } = await chain.call(deployment)
  if (!ok || !sameHex(data, address))
    throw new Error(
      `the deployer at ${DEPLOYER} would not deploy at ${address}. Turn executor off on this network.`,
    )
}

/** Sends the deployment from a relayer, and waits until it is mined. */
async function deploy({ chain, pool, tell, signal, ...contract }: Deployment): Promise<Receipt> {
  const { address, deployment } = contract
  await pool.requireReady()
  const estimate = await chain.estimateGas({ ...deployment, from: await pool.chooseSender() })
  if (typeof estimate !== 'bigint') throw new Error(`the deployment of ${address} would fail.`)
  const { baseFeePerGas, maxPriorityFeePerGas } = await chain.getFees()
  const cost = formatEther(estimate * (baseFeePerGas + maxPriorityFeePerGas))
  tell(`deploys executor ${address} of ${pool.addresses.join(', ')}.`)
  tell(`that takes ${estimate} gas, about ${cost} ${gasTokenOf(chain.network)}.`)
  const gas = percent(estimate, HEADROOM_PERCENT)
  const { submission } = await pool.sendAlone({ call: deployment, gas, members: () => [] })
  tell(`${submission.transaction} is sent by ${submission.relayer}.`)
  const receipt = await chain.waitForReceipt(() => pool.transactionsOf(submission), {
    timeoutMs: MINED_MS,
    signal,
  })
  if (receipt !== undefined) return receipt
  throw new Error(`${submission.transaction} is not mined yet. Run this again later.`)
}

/** Waits until the node has the code. Where somebody else was first, the transaction has failed, and it is there. */
async function untilDeployed(deployment: Deployment, receipt: Receipt): Promise<void> {
  const { transaction, succeeded } = receipt
  const end = world.elapsed() + SEEN_MS.most
  while (!(await isDeployed(deployment))) {
    if (!succeeded) throw new Error(`${transaction} has failed.`)
    if (world.elapsed() > end)
      throw new Error(`${transaction} is mined, but the node does not have its code. Run doctor.`)
    await world.sleep(SEEN_MS.pause, undefined, { signal: deployment.signal })
  }
}
