import { getAddress } from 'viem/utils'
import type { Chain } from '../chain/chain.js'
import type { Address, Hex } from '../../shared/protocol/payment.js'

/** The code of an account that delegates: this, and the address of the contract (EIP-7702). */
const DELEGATION = /^0xef0100([0-9a-f]{40})$/i

/**
 * Tells what is wrong with a relayer that is an EIP-7702 account: nodes limit its pending transactions.
 *
 * @returns `undefined` for an account without code.
 */
export async function describeDelegation(
  chain: Pick<Chain, 'getCode'>,
  relayer: Address,
): Promise<string | undefined> {
  const [, digits] = DELEGATION.exec(await chain.getCode(relayer)) ?? []
  if (digits === undefined) return undefined
  const contract: Hex = getAddress(`0x${digits}`)
  return `Relayer ${relayer} delegates to ${contract} (EIP-7702): nodes take 1 to 4 pending transactions of it; use a plain account.`
}
