import { useMemo } from 'preact/hooks'
import type { Activity, Funnel } from '../api/documents.js'
import { reasonInWords } from '../format/reasons.js'
import { formatDay, formatNumber, formatShare } from '../format/text.js'
import { Bar } from '../parts/bar.js'
import { Chart } from '../parts/chart.js'
import type { DateRange } from '../parts/date-range.js'
import { Empty } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import { daysOf } from './days.js'

const STEPS = [
  ['asked', 'Offers', 'line-1'],
  ['presented', 'Payments that came', 'line-2'],
  ['settled', 'Settled', 'accent'],
] as const

interface FunnelChartProps {
  readonly of: Funnel
  readonly range: DateRange
}

/** What became of offers, each day. */
export function FunnelChart({ of: { total, days: counted }, range }: FunnelChartProps) {
  const days = useMemo(() => daysOf(range), [range])
  const series = useMemo(() => {
    const byDay = new Map(counted.map((one) => [one.day, one]))
    return STEPS.map(([step, label, colour]) => ({
      ...{ label, colour },
      values: days.map((day) => byDay.get(day)?.[step] ?? 0),
    }))
  }, [counted, days])
  if (total.asked + total.presented + total.settled === 0)
    return <Empty title="Nobody has asked for a price in these days." />
  return (
    <>
      <Chart
        label="Offers, payments and settlements by day. The table below has the numbers."
        days={days}
        series={series}
        format={formatCount}
      />
      <details>
        <summary>Offers and payments by day as a table</summary>
        <Table
          caption="Offers and payments by day"
          rows={counted}
          keyOf={({ day }) => day}
          columns={[
            { title: 'Day', cell: ({ day }) => formatDay(day) },
            { title: 'Offers', isNumber: true, cell: (one) => formatNumber(one.asked) },
            { title: 'Came', isNumber: true, cell: (one) => formatNumber(one.presented) },
            { title: 'Refused', isNumber: true, cell: (one) => formatNumber(one.refused) },
            { title: 'Free', isNumber: true, cell: (one) => formatNumber(one.waived) },
            { title: 'Settled', isNumber: true, cell: (one) => formatNumber(one.settled) },
            { title: 'Failed', isNumber: true, cell: (one) => formatNumber(one.failed) },
          ]}
        />
      </details>
    </>
  )
}

/** An axis may have ticks between whole numbers. */
const formatCount = (value: number): string => (Number.isInteger(value) ? formatNumber(value) : '')

/** Why payments did not become money, the most frequent reason first. */
export function Reasons({ of: { reasons, refused, failed } }: { readonly of: Activity }) {
  const rows = Object.entries(reasons).toSorted(([, one], [, other]) => other - one)
  const sum = refused + failed
  if (rows.length === 0) return <Empty title="No payment was refused, and none failed." />
  return (
    <Table
      caption="Reasons of refusals and failures"
      rows={rows}
      keyOf={([reason]) => reason}
      columns={[
        {
          title: 'Reason',
          cell: ([reason, count]) => (
            <>
              <span title={reason}>{reasonInWords(reason)}</span>
              <Bar share={count / sum} tone="bad" />
            </>
          ),
        },
        { title: 'Payments', isNumber: true, cell: ([, count]) => formatNumber(count) },
        {
          title: 'Share',
          isNumber: true,
          isMinor: true,
          cell: ([, count]) => formatShare(count, sum),
        },
      ]}
    />
  )
}
