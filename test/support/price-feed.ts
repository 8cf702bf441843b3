/** A Chainlink price feed on a devnet: a real contract that answers what a test tells it. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createWalletClient, http, type Abi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { deploy } from './contracts.js'

/** What a feed says. */
export interface FeedRound {
  /** @defaultValue 8 */
  readonly decimals?: number
  readonly answer: bigint
  /** Unix seconds. */
  readonly updatedAt: number
  /** @defaultValue 7 */
  readonly roundId?: bigint
  /** @defaultValue the same round */
  readonly answeredInRound?: bigint
}

export interface PriceFeed {
  readonly address: Hex
  tell(round: FeedRound): Promise<void>
}

/** Deploys feeds, which answer zero until they are told otherwise, by the last of the relayers. */
export async function deployFeeds(devnet: Devnet, count: number): Promise<readonly PriceFeed[]> {
  const { abi, code } = await compileContract('price-feed.sol')
  const account = privateKeyToAccount(devnet.relayerKeys.at(-1)!)
  const wallet = createWalletClient({ account, transport: http(devnet.rpcUrl) })
  const deployOne = async (): Promise<PriceFeed> => {
    const address = await deploy(devnet, code)
    return {
      address,
      async tell({ decimals = 8, answer, updatedAt, roundId = 7n, answeredInRound = roundId }) {
        const round = { roundId, answer, startedAt: updatedAt, updatedAt, answeredInRound }
        await wallet.writeContract({
          ...{ chain: null, address, abi, functionName: 'tell' },
          args: [decimals, round],
        })
        await devnet.mine()
      },
    }
  }
  return Promise.all(Array.from({ length: count }, deployOne))
}

/** Compiles the one contract of a file in this folder. */
export async function compileContract(name: string): Promise<{ abi: Abi; code: Hex }> {
  const compiler = fileURLToPath(new URL('compile-contract.mjs', import.meta.url))
  const contract = fileURLToPath(new URL(name, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, contract])
  return JSON.parse(stdout) as { abi: Abi; code: Hex }
}
