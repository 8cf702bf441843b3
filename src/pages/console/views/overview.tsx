import { useMemo } from 'preact/hooks'
import type { Activity, Funnel, Revenue, RevenueGroup } from '../api/documents.js'
import { useFresh, useLoad, useReloadWhile, type Loaded } from '../api/use-load.js'
import { formatToken } from '../format/money.js'
import { reasonInWords } from '../format/reasons.js'
import { formatDay, formatNumber, formatShare } from '../format/text.js'
import { shownZone } from '../format/zone.js'
import { Chart } from '../parts/chart.js'
import {
  DateRangeFields,
  daysOf,
  lastDays,
  rangeBefore,
  spanOf,
  today,
  type DateRange,
} from '../parts/date-range.js'
import { NetworkField, networkQuery } from '../parts/network-field.js'
import { LoadedView } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page, Section } from '../parts/page.js'
import { ProjectField } from '../parts/project-field.js'
import { Table } from '../parts/table.js'
import { Money } from '../parts/values.js'
import { linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { useSession } from '../state/session.js'
import {
  Change,
  netOf,
  PaymentsLink,
  RevenueChart,
  RevenueShares,
  sumByToken,
  tokenOf,
} from './overview-revenue.js'

export function Overview({ route }: { readonly route: Route }) {
  const { role } = useSession()
  const project = route.query.get('project') ?? ''
  const network = route.query.get('network') ?? ''
  const range = useMemo(() => rangeOf(route), [route])
  const go = (
    change: Partial<DateRange & { readonly project: string; readonly network: string }>,
  ): void => navigate(linkTo(['overview'], { ...range, project, network, ...change }))
  const path = (view: string, money?: object, days = range): string =>
    `${role}/${view}${queryOf({ ...spanOf(days), project, ...money })}`
  const revenueBy = (by: string, days = range): string =>
    path('revenue', { by, ...networkQuery(network) }, days)
  const sharesBy = role === 'admin' && project === '' ? 'project' : 'resource'
  const revenue = useFresh<Revenue>(revenueBy('day'))
  // One outage is told once.
  const told = <T,>(of: Loaded<T>): Loaded<T> =>
    revenue.problem ? { ...of, problem: undefined } : of
  const funnel = told(useFresh<Funnel>(path('funnel')))
  const shares = told(useFresh<Revenue>(revenueBy(sharesBy)))
  // The gateway makes few sums at once: this one is asked for last.
  const before = useLoad<Revenue>(shares.data && revenueBy(sharesBy, rangeBefore(range)))
  useReloadWhile(before, before.problem !== undefined)
  const { total } = funnel.data ?? {}
  return (
    <Page title="Overview">
      <div class="toolbar">
        <DateRangeFields value={range} onValue={go} />
        <NetworkField value={network} onValue={(chosen) => go({ network: chosen })} isSum />
        <ProjectField value={project} onValue={(chosen) => go({ project: chosen })} />
      </div>
      <Headline of={{ revenue, before }} funnel={funnel} days={{ ...range, project }} />
      <Section
        title="Revenue by day"
        note={`Settled payments less refunds, by day (${shownZone()}).`}
      >
        <LoadedView of={revenue} room="tall">
          {(data) => <RevenueChart of={data} range={range} project={project} />}
        </LoadedView>
      </Section>
      {(!total || total.asked + total.presented + total.settled > 0) && (
        <Section
          title="Conversion"
          note={`Prices shown, payments attempted, and payments settled${network === '' ? '' : ', on all networks'}.`}
        >
          <LoadedView of={funnel} room="tall">
            {(data) => <FunnelChart of={data} range={range} />}
          </LoadedView>
        </Section>
      )}
      {total && Object.keys(total.reasons).length > 0 && (
        <Section title="Payments that were not settled">
          <Reasons of={total} />
        </Section>
      )}
      {shares.data && shares.data.revenue.length > 0 && (
        <RevenueShares of={shares.data} before={before.data} range={range} project={project} />
      )}
    </Page>
  )
}

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** Days of the URL, or the last 30. */
function rangeOf({ query }: Route): DateRange {
  const usual = lastDays(30)
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? '']
  const isRange = DAY.test(from) && DAY.test(to) && from <= to && Date.parse(to) > 0
  return isRange ? { from, to } : usual
}

interface HeadlineProps extends Of<Readonly<Record<'revenue' | 'before', Loaded<Revenue>>>> {
  readonly funnel: Loaded<Funnel>
  /** Filters of lists: days and merchant. */
  readonly days: Readonly<Record<string, string>>
}

function Headline({ of: { revenue, before }, funnel, days }: HeadlineProps) {
  const sums = sumByToken(revenue.data?.revenue ?? [])
  const total = funnel.data?.total
  const attempts = total && total.presented - total.repeated
  const broken = total?.reasons[APP_FAILED] ?? 0
  return (
    <dl class="headline">
      <div class="headline-main">
        <dt>Net revenue</dt>
        <dd>
          <Sums of={sums} isLoaded={revenue.data !== undefined} />
        </dd>
        {sums.map((sum) => (
          <dd key={tokenOf(sum)} class="headline-note">
            <Change of={sum} before={before.data && sumByToken(before.data.revenue)} />
            {sum.refunds > 0 && (
              <a href={linkTo(['refunds'], days)}>
                {formatToken(sum)} paid, {formatToken({ ...sum, amount: sum.refunded })} refunded
              </a>
            )}
          </dd>
        ))}
      </div>
      <div>
        <dt>Payments settled</dt>
        <dd>{total ? <PaymentsLink of={days}>{total.settled}</PaymentsLink> : '–'}</dd>
      </div>
      <div>
        <dt>Success rate</dt>
        <dd>{total ? formatShare(total.settled, attempts ?? 0) : '–'}</dd>
        {broken > 0 && (
          <dd class="headline-note">
            {formatNumber(broken)} lost because your app failed; nobody was charged
          </dd>
        )}
      </div>
    </dl>
  )
}

function Sums({ of, isLoaded }: Of<readonly RevenueGroup[]> & { readonly isLoaded: boolean }) {
  if (of.length === 0) return <span>{isLoaded ? 'Nothing yet' : '–'}</span>
  return (
    <>
      {of.map((sum) => (
        <Money key={tokenOf(sum)} of={netOf(sum)} class="money-large" />
      ))}
    </>
  )
}

/** The reason of payments that were not charged because the app's handler failed. */
const APP_FAILED = 'handler_failed'

const STEPS = [
  ['asked', 'Prices shown', 'line-1'],
  ['presented', 'Payments attempted', 'line-2'],
  ['settled', 'Settled', 'accent'],
  [APP_FAILED, 'Your app failed', 'bad'],
] as const

const countOf = (one: Activity, step: (typeof STEPS)[number][0]): number =>
  step === APP_FAILED ? (one.reasons[APP_FAILED] ?? 0) : one[step]

interface FunnelChartProps extends Of<Funnel> {
  readonly range: DateRange
}

function FunnelChart({ of: { total, days: counted }, range }: FunnelChartProps) {
  const days = useMemo(() => daysOf(range), [range])
  const series = useMemo(() => {
    const byDay = new Map(counted.map((one) => [one.day, one]))
    return STEPS.filter(([step]) => step !== APP_FAILED || countOf(total, step) > 0).map(
      ([step, label, colour]) => ({
        label,
        colour,
        values: days.map((day) => {
          const one = byDay.get(day)
          return one ? countOf(one, step) : 0
        }),
      }),
    )
  }, [counted, days, total])
  return (
    <>
      <Chart
        label="Prices shown, payments attempted and settled by day. The table below has the numbers."
        days={days}
        series={series}
        format={formatCount}
        isOpen={range.to >= today()}
      />
      <details>
        <summary>Conversion by day as a table</summary>
        <Table
          caption="Conversion by day"
          rows={counted}
          keyOf={({ day }) => day}
          columns={[
            ['Day', ({ day }) => formatDay(day)],
            ['Prices shown', ({ asked }) => formatNumber(asked), 'number'],
            ['Attempted', ({ presented }) => formatNumber(presented), 'number'],
            ['Repeated', ({ repeated }) => formatNumber(repeated), 'number'],
            ['Your app failed', (one) => formatNumber(countOf(one, APP_FAILED)), 'number'],
            ['Refused', (one) => formatNumber(one.refused - countOf(one, APP_FAILED)), 'number'],
            ['Free', ({ waived }) => formatNumber(waived), 'number'],
            ['Settled', ({ settled }) => formatNumber(settled), 'number'],
            ['Failed', ({ failed }) => formatNumber(failed), 'number'],
          ]}
        />
      </details>
    </>
  )
}

/** An axis may have ticks between whole numbers. */
const formatCount = (value: number): string => (Number.isInteger(value) ? formatNumber(value) : '')

/** Reasons of refusals and failures, the most frequent first. */
function Reasons({ of: { reasons, refused, failed } }: Of<Activity>) {
  const rows = Object.entries(reasons).toSorted(([, one], [, other]) => other - one)
  const sum = refused + failed
  return (
    <Table
      caption="Reasons of refusals and failures"
      rows={rows}
      keyOf={([reason]) => reason}
      columns={[
        ['Reason', ([reason]) => <span title={reason}>{reasonInWords(reason)}</span>],
        ['Payments', ([, count]) => formatNumber(count), 'number'],
        ['Share', ([, count]) => formatShare(count, sum), 'number minor'],
      ]}
    />
  )
}
