import { encodeFunctionData, parseAbi } from 'viem/utils'
import type { Chain } from '../../../chain/chain.js'
import type { Address, Hex } from '../../../protocol/payment.js'

const accountAbi = parseAbi([
  'function isValidSignature(bytes32 digest, bytes signature) view returns (bytes4)',
])

/** What an account returns for a signature of its own (ERC-1271). */
const MAGIC_VALUE = '0x1626ba7e'

/** A signature, and the account that is said to have made it. */
export interface AccountSignature {
  readonly account: Address
  readonly digest: Hex
  readonly signature: Hex
}

/**
 * Asks a contract account whether a signature is its own (ERC-1271).
 *
 * @throws {@link ChainError}
 */
export async function isSignedByContract(
  chain: Pick<Chain, 'call'>,
  { account, digest, signature }: AccountSignature,
): Promise<boolean> {
  const data = encodeFunctionData({
    abi: accountAbi,
    functionName: 'isValidSignature',
    args: [digest, signature],
  })
  const result = await chain.call({ to: account, data })
  return result.ok && result.data.toLowerCase().startsWith(MAGIC_VALUE)
}
