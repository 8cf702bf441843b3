import type { Funnel, Latency, Revenue, RevenueGroup } from '../api/documents.js'
import type { Loaded } from '../api/use-load.js'
import { formatDuration, formatNumber, formatShare } from '../format/text.js'
import { Money } from '../parts/values.js'
import { sumByToken } from './sum-by-token.js'

interface HeadlineProps {
  readonly revenue: Loaded<Revenue>
  readonly funnel: Loaded<Funnel>
  readonly latency: Loaded<Latency>
}

export function Headline({ revenue, funnel, latency }: HeadlineProps) {
  const sums = sumByToken(revenue.data?.revenue ?? [])
  const total = funnel.data?.total
  const settle = latency.data?.phases.total.p50 ?? latency.data?.phases.settle.p50
  return (
    <dl class="headline">
      <div class="headline-main">
        <dt>Revenue</dt>
        <dd>
          <Sums of={sums} isLoaded={revenue.data !== undefined} />
        </dd>
      </div>
      <div>
        <dt>Payments settled</dt>
        <dd>{total ? formatNumber(total.settled) : '–'}</dd>
      </div>
      <div>
        <dt>Success rate</dt>
        <dd>{total ? formatShare(total.settled, total.presented) : '–'}</dd>
      </div>
      <div>
        <dt>Median time</dt>
        <dd>{settle === undefined ? '–' : formatDuration(settle)}</dd>
      </div>
    </dl>
  )
}

function Sums({
  of,
  isLoaded,
}: {
  readonly of: readonly RevenueGroup[]
  readonly isLoaded: boolean
}) {
  if (of.length === 0) return <span>{isLoaded ? 'Nothing yet' : '–'}</span>
  return (
    <>
      {of.map((sum) => (
        <Money key={`${sum.network} ${sum.asset}`} of={sum} class="money-large" />
      ))}
    </>
  )
}
