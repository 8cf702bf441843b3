import type { Latency, Percentiles } from '../api/documents.js'
import { formatDuration, formatNumber } from '../format/text.js'
import { Bar } from '../parts/bar.js'
import { Empty } from '../parts/notice.js'
import { Table } from '../parts/table.js'

const PHASES = [
  ['verify', 'Verification'],
  ['handler', 'Your app'],
  ['settle', 'Settlement on chain'],
  ['total', 'Total'],
] as const

/** Duration of each phase. The bar leads from p50 to p95. */
export function LatencyTable({ of }: { readonly of: Latency['phases'] }) {
  const rows = PHASES.map(([phase, name]) => ({ name, ...of[phase] })).filter(
    ({ count }) => count > 0,
  )
  if (rows.length === 0) return <Empty title="No measurements in this period." />
  const most = Math.max(...rows.map(({ p95 = 0 }) => p95), 1)
  return (
    <Table
      caption="Speed by phase"
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        {
          title: 'Phase',
          cell: ({ name, p50 = 0, p95 = 0 }) => (
            <>
              {name}
              <Bar start={p50 / most} share={Math.max(0.01, (p95 - p50) / most)} />
            </>
          ),
        },
        { title: 'Median', isNumber: true, cell: ({ p50 }) => shown(p50) },
        { title: 'Slowest 5 %', isNumber: true, cell: ({ p95 }) => shown(p95) },
        {
          title: 'Measured',
          isNumber: true,
          isMinor: true,
          cell: ({ count }) => formatNumber(count),
        },
      ]}
    />
  )
}

const shown = (ms: Percentiles['p50']): string => (ms === undefined ? '–' : formatDuration(ms))
