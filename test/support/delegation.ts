/** Accounts with a key that delegate to a contract (EIP-7702), by real transactions. */
import { createWalletClient, http, parseGwei } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { askNode } from './core.js'
import { toHex } from './on-chain.js'
import type { TestPayer } from './sign-payment.js'

/**
 * Sends the transaction by which an account delegates to a contract, ahead of all others that wait.
 *
 * @returns Its hash; it is mined with the next block.
 */
export async function delegate(devnet: Devnet, payer: TestPayer, contract: Hex): Promise<Hex> {
  await askNode(devnet, 'anvil_setBalance', payer.address, toHex(10n ** 18n))
  const client = createWalletClient({
    account: privateKeyToAccount(payer.privateKey),
    chain: baseSepolia,
    transport: http(devnet.rpcUrl),
  })
  const authorization = await client.signAuthorization({
    contractAddress: contract,
    executor: 'self',
  })
  return client.sendTransaction({
    to: payer.address,
    authorizationList: [authorization],
    gas: 200_000n,
    maxFeePerGas: parseGwei('100'),
    maxPriorityFeePerGas: parseGwei('50'),
  })
}
