import type { Chain } from '../../core/chain/chain.js'
import { PERMIT2 } from '../../core/schemes/evm/transfer/address.js'
import { EXACT_SPENDER, UPTO_SPENDER } from '../../core/schemes/evm/permit2/contracts.js'
import type { Asset } from '../../shared/money/assets.js'
import type { Address } from '../../shared/protocol/payment.js'
import type { RelayerPool } from '../../core/relayer/pool.js'
import { readPermitDomain } from '../../core/schemes/evm/permit2/find-permits.js'
import { failed, fine, findings, type Finding, type Place } from './finding.js'

export async function checkPermit2(
  chain: Pick<Chain, 'callMany' | 'getCode'>,
  asset: Asset,
  place: Place,
): Promise<Finding> {
  const { symbol, address, network } = asset
  const what = `${symbol} on ${network.name} (${address})`
  const missing = await findMissing(chain, EXACT_SPENDER.address)
  if (missing !== undefined)
    return failed(place, {
      code: 'permit2_missing',
      message: `${what} is to be taken by Permit2, whose contract ${missing} is not on ${network.name}: no such payment can be settled. Take tokens with ERC-3009 there.`,
    })
  const domain = await readPermitDomain(chain, asset)
  const approval = domain
    ? 'buyers may sign their approval (EIP-2612), which is settled with the payment'
    : 'buyers approve the token to Permit2 in a transaction of their own first'
  return fine(place, `${what}: taken by Permit2; ${approval}.`)
}

/** Checks that metered prices can be paid on a network. They are by Permit2, whatever the token. */
export async function checkUpto(
  chain: Pick<Chain, 'getCode' | 'network'>,
  { executor }: Pick<RelayerPool, 'executor'>,
): Promise<readonly Finding[]> {
  const { name, caip2 } = chain.network
  const place = { subject: 'network', network: caip2 } as const
  return findings(place, async () => {
    const missing = await findMissing(chain, UPTO_SPENDER.address)
    if (missing === undefined) return []
    const isMeant = executor !== undefined
    const remedy = `Ask for fixed prices there${isMeant ? ', and remove executor' : ''}.`
    const message = `The contract ${missing} is not on ${name}: metered prices (upto) cannot be paid there. ${remedy}`
    return [{ ...place, status: isMeant ? 'error' : 'warning', code: 'permit2_missing', message }]
  })
}

async function findMissing(
  chain: Pick<Chain, 'getCode'>,
  spender: Address,
): Promise<Address | undefined> {
  for (const contract of [PERMIT2, spender])
    if ((await chain.getCode(contract)) === '0x') return contract
  return undefined
}
