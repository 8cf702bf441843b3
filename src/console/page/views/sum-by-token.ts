import type { RevenueGroup } from '../api/documents.js'

/** Sums groups of one token each, those with most payments first. */
export function sumByToken(groups: readonly RevenueGroup[]): readonly RevenueGroup[] {
  const sums = new Map<string, RevenueGroup>()
  for (const group of groups) {
    const name = tokenOf(group)
    const before = sums.get(name)
    const amount = (BigInt(group.amount) + BigInt(before?.amount ?? 0)).toString()
    sums.set(name, { ...group, amount, count: group.count + (before?.count ?? 0) })
  }
  return [...sums.values()].toSorted((one, other) => other.count - one.count)
}

/** Names the token of a group. */
export const tokenOf = ({ network, asset }: RevenueGroup): string => `${network} ${asset}`
