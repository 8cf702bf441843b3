import type { Chain } from '../chain/chain.js'
import { PERMIT2 } from '../schemes/evm/permit2/address.js'
import { EXACT_SPENDER } from '../schemes/evm/permit2/contracts.js'
import type { Asset } from '../money/assets.js'
import { readPermitDomain } from '../schemes/evm/permit2/find-permits.js'
import { failed, fine, type Finding, type Place } from './finding.js'

/** Checks that a token can be taken by Permit2 on its network. */
export async function checkPermit2(
  chain: Pick<Chain, 'callMany' | 'getCode'>,
  asset: Asset,
  place: Place,
): Promise<Finding> {
  const { symbol, address, network } = asset
  const what = `${symbol} on ${network.name} (${address})`
  for (const contract of [PERMIT2, EXACT_SPENDER.address]) {
    if ((await chain.getCode(contract)) !== '0x') continue
    return failed(place, {
      code: 'permit2_missing',
      message: `${what} is to be taken by Permit2, whose contract ${contract} is not on ${network.name}: no such payment can be settled. Take tokens with ERC-3009 there.`,
    })
  }
  const domain = await readPermitDomain(chain, asset)
  const approval = domain
    ? 'buyers may sign their approval (EIP-2612), which is settled with the payment'
    : 'buyers approve the token to Permit2 in a transaction of their own first'
  return fine(place, `${what}: taken by Permit2; ${approval}.`)
}
