/** What happened to payments, from counts. */
import { COUNTED, type Counted } from '../../../ledger/counters.js'
import { ALL_COUNTED, type Count } from '../../../ledger/counts.js'
import { dayName, evenSpans } from '../../../ledger/time-zone.js'
import { groupBy } from '../../../shared/group-by.js'
import type { RouterContext } from '../../context.js'
import type { ViewScope } from '../../serve/owner.js'
import type { Span } from './view-query.js'

interface Activity extends Readonly<Record<Counted, number>> {
  /** Of what was refused or has failed, by reason. */
  readonly reasons: Readonly<Record<string, number>>
  /** Of what was waived, by the app's own reasons. */
  readonly waivedFor: Readonly<Record<string, number>>
}

/** `…/funnel`: how many 402s became payments, by day, and why others did not. */
export async function funnelOf(context: RouterContext, scope: ViewScope, span: Span) {
  const counts = await sumsOf(context, scope, span)
  const days = groupBy(counts, ({ day }) => day)
  return {
    total: activityOf(counts),
    days: [...days]
      .toSorted(([one], [other]) => one - other)
      .map(([day, ofDay]) => ({ day: dayName(day), ...activityOf(ofDay) })),
  }
}

/** What happened, by the days of the span's zone. */
async function sumsOf(
  { ledger, counters }: RouterContext,
  { project }: ViewScope,
  { zone, ...span }: Span,
): Promise<readonly Count[]> {
  await counters.flush()
  const asked = { project: typeof project === 'string' ? project : ALL_COUNTED, kinds: COUNTED }
  const sums = [...evenSpans(zone, span)].map((even) =>
    ledger.counts.sumCounts({ ...asked, ...even }),
  )
  return (await Promise.all(sums)).flat()
}

function activityOf(counts: readonly Count[]): Activity {
  const sums = Object.fromEntries(COUNTED.map((kind) => [kind, 0])) as Record<Counted, number>
  const reasons = new Map<string, number>()
  const waivedFor = new Map<string, number>()
  for (const { kind, label, count } of counts) {
    sums[kind as Counted] += count
    const labels = kind === 'waived' ? waivedFor : reasons
    if (label !== '') labels.set(label, (labels.get(label) ?? 0) + count)
  }
  return {
    ...sums,
    reasons: Object.fromEntries(reasons),
    waivedFor: Object.fromEntries(waivedFor),
  }
}
