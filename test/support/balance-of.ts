import { createPublicClient, http, parseAbi } from 'viem'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'

/** What an account has of the devnet's token. */
export async function balanceOf(devnet: Devnet, account: Hex): Promise<bigint> {
  const client = createPublicClient({ transport: http(devnet.rpcUrl) })
  return client.readContract({
    address: devnet.asset,
    abi: parseAbi(['function balanceOf(address) view returns (uint256)']),
    functionName: 'balanceOf',
    args: [account],
  })
}
