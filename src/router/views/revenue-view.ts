import { checksumAddress } from '../../crypto/checksum-address.js'
import { DAY_MS, type RevenueGroup, type RevenueQuery } from '../../ledger/revenue.js'
import { findKnownAsset, type Asset } from '../../money/assets.js'
import { sameHex } from '../../protocol/hex.js'
import { findNetwork, formatNetwork } from '../../protocol/networks.js'
import type { RouterContext } from '../context.js'
import type { ViewScope } from '../owner.js'

/** Sums of a time, as they are shown. */
export async function revenueOf(
  { revenue, networkNames }: RouterContext,
  { project, accepts }: ViewScope,
  query: Omit<RevenueQuery, 'project'>,
) {
  const groups = await revenue.read({ ...query, project })
  const sorted = query.by === 'day' ? groups.toSorted(byDay) : groups
  return sorted.map((group) => {
    const { chainId, asset, amount, count } = group
    const caip2 = `eip155:${chainId}` as const
    const network = findNetwork(caip2)
    const known: Asset | undefined =
      accepts.find((one) => one.network.caip2 === caip2 && sameHex(one.address, asset)) ??
      (network && findKnownAsset(network, asset))
    return {
      ...keyOf(group, query.by),
      network: network ? formatNetwork(network, networkNames) : caip2,
      asset: checksumAddress(asset),
      ...(known && { symbol: known.symbol, decimals: known.decimals }),
      amount: amount.toString(),
      count,
    }
  })
}

function keyOf({ key }: RevenueGroup, by: RevenueQuery['by']): object {
  if (key === undefined) return { other: true }
  if (key === '') return {}
  return { [by]: by === 'day' ? dayName(Number(key)) : key }
}

/** The date of a day since the epoch. */
export function dayName(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

function byDay(one: RevenueGroup, other: RevenueGroup): number {
  return Number(one.key) - Number(other.key)
}
