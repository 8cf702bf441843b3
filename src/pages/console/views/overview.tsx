import { useMemo } from 'preact/hooks'
import type { Activity, Funnel, Revenue, RevenueGroup } from '../api/documents.js'
import { useFresh, type Loaded } from '../api/use-load.js'
import { formatToken } from '../format/money.js'
import { reasonInWords } from '../format/reasons.js'
import { formatDay, formatNumber, formatShare } from '../format/text.js'
import { shownZone } from '../format/zone.js'
import { Chart } from '../parts/chart.js'
import {
  DateRangeFields,
  daysOf,
  lastDays,
  spanOf,
  today,
  type DateRange,
} from '../parts/date-range.js'
import { NetworkField, networkQuery } from '../parts/network-field.js'
import { Empty, LoadedView } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page, Section } from '../parts/page.js'
import { ProjectField } from '../parts/project-field.js'
import { Table } from '../parts/table.js'
import { Money } from '../parts/values.js'
import { linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { useSession } from '../state/session.js'
import { netOf, RevenueChart, RevenueShares, sumByToken, tokenOf } from './overview-revenue.js'

export function Overview({ route }: { readonly route: Route }) {
  const { role } = useSession()
  const project = route.query.get('project') ?? ''
  const network = route.query.get('network') ?? ''
  const range = useMemo(() => rangeOf(route), [route])
  const go = (
    change: Partial<DateRange & { readonly project: string; readonly network: string }>,
  ): void => navigate(linkTo(['overview'], { ...range, project, network, ...change }))
  const path = (view: string, money?: object): string =>
    `${role}/${view}${queryOf({ ...spanOf(range), project, ...money })}`
  const revenueBy = (by: string): string => path('revenue', { by, ...networkQuery(network) })
  const sharesBy = role === 'admin' && project === '' ? 'project' : 'resource'
  const revenue = useFresh<Revenue>(revenueBy('day'))
  const funnel = useFresh<Funnel>(path('funnel'))
  const shares = useFresh<Revenue>(revenueBy(sharesBy))
  return (
    <Page title="Overview">
      <div class="toolbar">
        <DateRangeFields value={range} onValue={go} />
        <NetworkField value={network} onValue={(chosen) => go({ network: chosen })} isSum />
        <ProjectField value={project} onValue={(chosen) => go({ project: chosen })} />
      </div>
      <Headline revenue={revenue} funnel={funnel} />
      <Section
        title="Revenue by day"
        note={`Settled payments less refunds, by day (${shownZone()}).`}
      >
        <LoadedView of={revenue} room="tall">
          {(data) => <RevenueChart of={data} range={range} />}
        </LoadedView>
      </Section>
      <Section
        title="Conversion"
        note={`Prices shown, payments attempted, and payments settled${network === '' ? '' : ', on all networks'}.`}
      >
        <LoadedView of={funnel} room="tall">
          {(data) => <FunnelChart of={data} range={range} />}
        </LoadedView>
      </Section>
      <div class="columns">
        <Section title="Refused and failed payments">
          <LoadedView of={funnel}>{({ total }) => <Reasons of={total} />}</LoadedView>
        </Section>
        <Section title={sharesBy === 'project' ? 'Revenue by merchant' : 'Revenue by resource'}>
          <LoadedView of={shares}>
            {(data) => <RevenueShares of={data.revenue} by={sharesBy} />}
          </LoadedView>
        </Section>
      </div>
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

interface HeadlineProps {
  readonly revenue: Loaded<Revenue>
  readonly funnel: Loaded<Funnel>
}

function Headline({ revenue, funnel }: HeadlineProps) {
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

interface SumsProps extends Of<readonly RevenueGroup[]> {
  readonly isLoaded: boolean
}

function Sums({ of, isLoaded }: SumsProps) {
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
function Refunds({ of }: Of<readonly RevenueGroup[]>) {
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

const STEPS = [
  ['asked', 'Prices shown', 'line-1'],
  ['presented', 'Payments attempted', 'line-2'],
  ['settled', 'Settled', 'accent'],
] as const

interface FunnelChartProps extends Of<Funnel> {
  readonly range: DateRange
}

function FunnelChart({ of: { total, days: counted }, range }: FunnelChartProps) {
  const days = useMemo(() => daysOf(range), [range])
  const series = useMemo(() => {
    const byDay = new Map(counted.map((one) => [one.day, one]))
    return STEPS.map(([step, label, colour]) => ({
      label,
      colour,
      values: days.map((day) => byDay.get(day)?.[step] ?? 0),
    }))
  }, [counted, days])
  if (total.asked + total.presented + total.settled === 0)
    return <Empty title="No visits in this period." />
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
            ['Refused', ({ refused }) => formatNumber(refused), 'number'],
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
  if (rows.length === 0) return <Empty title="No refused or failed payments." />
  return (
    <Table
      caption="Reasons of refusals and failures"
      rows={rows}
      keyOf={([reason]) => reason}
      columns={[
        [
          'Reason',
          ([reason, count]) => (
            <>
              <span title={reason}>{reasonInWords(reason)}</span>
              <Bar share={count / sum} />
            </>
          ),
        ],
        ['Payments', ([, count]) => formatNumber(count), 'number'],
        ['Share', ([, count]) => formatShare(count, sum), 'number minor'],
      ]}
    />
  )
}

/** A bar that illustrates a number next to it. @param share - From 0 to 1. */
function Bar({ share }: { readonly share: number }) {
  const width = `${Math.min(1, share) * 100}%`
  return (
    <span class="bar" aria-hidden="true">
      <span class="bar-fill" style={{ width }} />
    </span>
  )
}
