/** The revenue of merchants: sums of settled payments and refunds, exact to the token's smallest unit. */
import type { Address } from '../shared/protocol/payment.js'
import type { LedgerQuery, LedgerRecord } from './record.js'
import { dayOf, UTC, type TimeZone } from './time-zone.js'

/** Payments are summed by token and by one of these. */
export const REVENUE_KEYS = ['day', 'project', 'asset', 'resource'] as const

/** Which payments and refunds are summed. The time of each is that of its own reservation, as in lists. */
export interface RevenueQuery {
  readonly project: LedgerQuery['project']
  /** Unix time in milliseconds, inclusive. */
  readonly from: number
  /** Unix time in milliseconds, exclusive. */
  readonly until: number
  readonly by: (typeof REVENUE_KEYS)[number]
  /** Whose days are meant. @defaultValue UTC */
  readonly zone?: TimeZone | undefined
}

export interface RevenueGroup {
  /**
   * Days since the epoch, id of the project, or URL of the resource without its query. Empty where payments
   * have none, and for `asset`; `undefined` for the groups that were merged into one.
   */
  readonly key: string | undefined
  readonly chainId: number
  readonly asset: Address
  /** Atomic units of the token that were paid, before refunds. */
  readonly amount: bigint
  readonly count: number
  /** Atomic units that were refunded, whenever their payments were made. */
  readonly refunded: bigint
  readonly refunds: number
}

/** Groups of an answer. */
const MAX_GROUPS = 1000

/** Groups that are kept apart while payments are summed: each payment may have another URL. */
export const MAX_SUMMED_GROUPS = 10_000

export function revenueKeyOf(
  { createdAt, project = '', details }: Pick<LedgerRecord, 'createdAt' | 'project' | 'details'>,
  { by, zone = UTC }: Pick<RevenueQuery, 'by' | 'zone'>,
): string {
  switch (by) {
    case 'day':
      return String(dayOf(zone, createdAt))
    case 'project':
      return project
    case 'asset':
      return ''
    case 'resource':
      // The query differs from request to request.
      return details?.resource?.split('?', 1)[0] ?? ''
  }
}

export class RevenueSums {
  readonly #groups = new Map<string, RevenueGroup>()
  /** Sums of the groups that are merged, by token. */
  readonly #rest = new Map<string, RevenueGroup>()

  add(group: RevenueGroup): void {
    const { key, chainId, asset } = group
    const name = JSON.stringify([chainId, asset, key])
    const isKept = this.#groups.has(name) || this.#groups.size < MAX_SUMMED_GROUPS
    if (key !== undefined && isKept) merge(this.#groups, name, group)
    else this.#addRest(group)
  }

  /** The groups, those with most units of a token first, and then the rest. */
  groups(): readonly RevenueGroup[] {
    const left = ({ amount, refunded }: RevenueGroup): number => Number(amount - refunded)
    const all = [...this.#groups.values()].toSorted((one, other) => left(other) - left(one))
    for (const group of all.slice(MAX_GROUPS)) this.#addRest(group)
    return [...all.slice(0, MAX_GROUPS), ...this.#rest.values()]
  }

  #addRest(group: RevenueGroup): void {
    const name = JSON.stringify([group.chainId, group.asset])
    merge(this.#rest, name, { ...group, key: undefined })
  }
}

function merge(groups: Map<string, RevenueGroup>, name: string, group: RevenueGroup): void {
  const before = groups.get(name)
  if (before === undefined) return void groups.set(name, group)
  groups.set(name, {
    ...group,
    amount: before.amount + group.amount,
    count: before.count + group.count,
    refunded: before.refunded + group.refunded,
    refunds: before.refunds + group.refunds,
  })
}
