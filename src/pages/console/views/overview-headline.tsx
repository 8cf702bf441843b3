import type { Funnel, Revenue, RevenueGroup } from '../api/documents.js'
import type { Loaded } from '../api/use-load.js'
import { formatToken } from '../format/money.js'
import { formatNumber, formatShare } from '../format/text.js'
import { Money } from '../parts/values.js'
import { netOf, sumByToken, tokenOf } from './sum-by-token.js'

interface HeadlineProps {
  readonly revenue: Loaded<Revenue>
  readonly funnel: Loaded<Funnel>
}

export function Headline({ revenue, funnel }: HeadlineProps) {
  const sums = sumByToken(revenue.data?.revenue ?? [])
  const total = funnel.data?.total
  const attempts = total && total.presented - total.repeated
  return (
    <dl class="headline">
      <div class="headline-main">
        <dt>Net revenue</dt>
        <dd>
          <Sums of={sums} isLoaded={revenue.data !== undefined} />
        </dd>
        <Refunds of={sums} />
      </div>
      <div>
        <dt>Payments settled</dt>
        <dd>{total ? formatNumber(total.settled) : '–'}</dd>
      </div>
      <div>
        <dt>Success rate</dt>
        <dd>{total ? formatShare(total.settled, attempts ?? 0) : '–'}</dd>
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
        <Money key={tokenOf(sum)} of={netOf(sum)} class="money-large" />
      ))}
    </>
  )
}

/** What was paid before refunds, where there were any. */
function Refunds({ of }: { readonly of: readonly RevenueGroup[] }) {
  return (
    <>
      {of
        .filter(({ refunds }) => refunds > 0)
        .map((sum) => (
          <dd key={tokenOf(sum)} class="headline-note">
            {formatToken(sum)} paid, {formatToken({ ...sum, amount: sum.refunded })} refunded
          </dd>
        ))}
    </>
  )
}
