import type { RevenueGroup, TokenAmount } from '../api/documents.js'

/** Sums groups of one token each, those with most payments first. */
export function sumByToken(groups: readonly RevenueGroup[]): readonly RevenueGroup[] {
  const sums = new Map<string, RevenueGroup>()
  for (const group of groups) {
    const name = tokenOf(group)
    const before = sums.get(name)
    sums.set(name, before === undefined ? group : added(before, group))
  }
  return [...sums.values()].toSorted((one, other) => other.count - one.count)
}

function added(one: RevenueGroup, other: RevenueGroup): RevenueGroup {
  const sum = (name: 'amount' | 'refunded' | 'net'): string =>
    String(BigInt(one[name]) + BigInt(other[name]))
  return {
    ...one,
    amount: sum('amount'),
    refunded: sum('refunded'),
    net: sum('net'),
    count: one.count + other.count,
    refunds: one.refunds + other.refunds,
  }
}

/** What is left after refunds. */
export function netOf(group: RevenueGroup): TokenAmount {
  return { ...group, amount: group.net }
}

/** Names the token of a group. */
export const tokenOf = ({ network, asset }: RevenueGroup): string => `${network} ${asset}`
