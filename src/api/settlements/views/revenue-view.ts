import { checksumAddress } from '../../../shared/crypto/checksum-address.js'
import { findAsset } from '../../../ledger/export-format.js'
import type { RevenueGroup, RevenueQuery } from '../../../ledger/revenue.js'
import { dayName } from '../../../ledger/time-zone.js'
import { findNetwork, formatNetwork, type Network } from '../../../shared/protocol/networks.js'
import type { RouterContext } from '../../context.js'
import { namedProject, type ViewScope } from '../../serve/owner.js'

/** Which networks' sums are shown. */
export interface Money {
  readonly network?: Pick<Network, 'chainId'> | undefined
  /** @defaultValue test networks only where there is nothing else */
  readonly testnet?: boolean | undefined
}

export async function revenueOf(
  context: RouterContext,
  { project, accepts }: ViewScope,
  { network: only, testnet, ...query }: Omit<RevenueQuery, 'project'> & Money,
) {
  const { revenue, networkNames } = context
  const groups = ofKind(await revenue.read({ ...query, project }), { network: only, testnet })
  const sorted = query.by === 'day' ? groups.toSorted(byDay) : groups
  const shown = sorted.map((group) => {
    const { chainId, asset, amount, count, refunded, refunds } = group
    const caip2 = `eip155:${chainId}` as const
    const network = findNetwork(caip2)
    const known = findAsset(group, accepts)
    return {
      ...keyOf(group, query.by),
      ...(query.by === 'project' && namedProject(context, group.key || undefined)),
      network: network ? formatNetwork(network, networkNames) : caip2,
      ...(network?.testnet && { testnet: true as const }),
      asset: checksumAddress(asset),
      ...(known && { symbol: known.symbol, decimals: known.decimals }),
      amount: amount.toString(),
      count,
      refunded: refunded.toString(),
      refunds,
      net: (amount - refunded).toString(),
    }
  })
  return query.by === 'day' ? shown : shown.toSorted((one, other) => moneyOf(other) - moneyOf(one))
}

/** Compares sums of several tokens, by their numbers alone. Merged groups are the last. */
function moneyOf({ net, ...of }: { net: string; decimals?: number; other?: boolean }): number {
  return of.other ? -Infinity : Number(net) / 10 ** (of.decimals ?? UNKNOWN_DECIMALS)
}

/** Digits of a token that nobody knows: most have so many. */
const UNKNOWN_DECIMALS = 18

/** The sums of one kind of money: that of test networks is never shown among others'. */
function ofKind(
  groups: readonly RevenueGroup[],
  { network, testnet }: Money,
): readonly RevenueGroup[] {
  const onNetwork = groups.filter(({ chainId }) => (network?.chainId ?? chainId) === chainId)
  const isTest = ({ chainId }: RevenueGroup): boolean =>
    findNetwork(`eip155:${chainId}`)?.testnet === true
  const wanted = testnet ?? onNetwork.every(isTest)
  return onNetwork.filter((group) => isTest(group) === wanted)
}

function keyOf({ key }: RevenueGroup, by: RevenueQuery['by']): { other?: true } {
  if (key === undefined) return { other: true }
  if (key === '') return {}
  return { [by]: by === 'day' ? dayName(Number(key)) : key }
}

function byDay(one: RevenueGroup, other: RevenueGroup): number {
  return Number(one.key) - Number(other.key)
}
