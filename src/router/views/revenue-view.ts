import type { Request } from 'express'
import { z } from 'zod'
import { checksumAddress } from '../../crypto/checksum-address.js'
import { DAY_MS, REVENUE_KEYS, type RevenueGroup, type RevenueQuery } from '../../ledger/revenue.js'
import { findKnownAsset, type Asset } from '../../money/assets.js'
import { sameHex } from '../../protocol/hex.js'
import { findNetwork, formatNetwork } from '../../protocol/networks.js'
import type { RouterContext } from '../context.js'
import { readQuery } from '../read-query.js'
import { parametersOf, readSpan, shownSpan, SPAN_PARAMETERS, type ViewScope } from './view-query.js'

const PARAMETERS = [...SPAN_PARAMETERS, 'by'] as const

/** Reads by what revenue is grouped. */
export const bySchema = z.object({
  by: z.enum(REVENUE_KEYS, `must be one of ${REVENUE_KEYS.join(', ')}`).default('day'),
})

/**
 * `…/revenue`: what was paid, by token and by day, project or resource.
 *
 * @param parameters - Those that are read elsewhere.
 */
export async function revenueView(
  context: RouterContext,
  scope: ViewScope,
  { req, parameters = [] }: { readonly req: Request; readonly parameters?: readonly string[] },
) {
  const known = [...PARAMETERS, ...parameters]
  const span = readSpan(req, context.now(), known)
  const { by } = readQuery(req, bySchema, parametersOf(known))
  const revenue = await revenueOf(context, scope, { ...span, by })
  return { ...shownSpan(span), by, revenue }
}

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
