import { useMemo } from 'preact/hooks'
import type { Activity, Funnel } from '../api/documents.js'
import { reasonInWords } from '../format/reasons.js'
import { formatDay, formatNumber, formatShare } from '../format/text.js'
import { Bar } from '../parts/bar.js'
import { Chart } from '../parts/chart.js'
import { today, type DateRange } from '../parts/date-range.js'
import { Empty } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import { daysOf } from './days.js'

const STEPS = [
  ['asked', 'Prices shown', 'line-1'],
  ['presented', 'Payments attempted', 'line-2'],
  ['settled', 'Settled', 'accent'],
] as const

interface FunnelChartProps {
  readonly of: Funnel
  readonly range: DateRange
}

export function FunnelChart({ of: { total, days: counted }, range }: FunnelChartProps) {
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
            { title: 'Day', cell: ({ day }) => formatDay(day) },
            { title: 'Prices shown', isNumber: true, cell: (one) => formatNumber(one.asked) },
            { title: 'Attempted', isNumber: true, cell: (one) => formatNumber(one.presented) },
            { title: 'Repeated', isNumber: true, cell: (one) => formatNumber(one.repeated) },
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

/** Reasons of refusals and failures, the most frequent first. */
export function Reasons({ of: { reasons, refused, failed } }: { readonly of: Activity }) {
  const rows = Object.entries(reasons).toSorted(([, one], [, other]) => other - one)
  const sum = refused + failed
  if (rows.length === 0) return <Empty title="No refused or failed payments." />
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
