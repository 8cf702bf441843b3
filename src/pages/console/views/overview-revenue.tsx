import { useMemo, useState } from 'preact/hooks'
import type { Revenue, RevenueGroup, TokenAmount } from '../api/documents.js'
import { decimalOf, formatDecimal, formatToken } from '../format/money.js'
import { formatDay, formatNumber } from '../format/text.js'
import { Button } from '../parts/button.js'
import { Chart } from '../parts/chart.js'
import { daysOf, today, type DateRange } from '../parts/date-range.js'
import { SelectField } from '../parts/field.js'
import { Empty } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Table } from '../parts/table.js'
import { Money, NetworkName, StrangerUrl } from '../parts/values.js'
import { linkTo } from '../state/route.js'
import { findNetwork, useSession } from '../state/session.js'

interface RevenueChartProps extends Of<Revenue> {
  readonly range: DateRange
}

export function RevenueChart({ of: { revenue }, range }: RevenueChartProps) {
  const session = useSession()
  const tokens = sumByToken(revenue)
  const [chosen, setChosen] = useState('')
  const token = tokens.find((one) => tokenOf(one) === chosen) ?? tokens[0]
  const days = useMemo(() => daysOf(range), [range])
  const name = token && tokenOf(token)
  const series = useMemo(() => [seriesOf(name, revenue, days)], [revenue, days, name])
  if (token === undefined) return <Empty title="No settled payments in this period." />
  const title = (one: RevenueGroup): string =>
    `${one.symbol ?? one.asset} on ${findNetwork(session, one.network)?.name ?? one.network}${one.testnet ? ' (test)' : ''}`
  const rows = revenue.filter((group) => tokenOf(group) === tokenOf(token))
  return (
    <>
      {tokens.length > 1 && (
        <SelectField
          label="Token"
          value={tokenOf(token)}
          onValue={setChosen}
          options={tokens.map((one) => [tokenOf(one), title(one)] as const)}
        />
      )}
      <Chart
        label={`Net revenue by day in ${title(token)}. The table below has the numbers.`}
        days={days}
        series={series}
        format={formatValue}
        isOpen={range.to >= today()}
      />
      <details>
        <summary>Revenue by day as a table</summary>
        <Table
          caption={`Revenue by day in ${title(token)}`}
          rows={rows}
          keyOf={({ day = '' }) => day}
          columns={[
            ['Day', ({ day }) => day && formatDay(day)],
            ['Gross', (row) => <Money of={row} />, 'number'],
            ['Refunded', (row) => formatToken({ ...row, amount: row.refunded }), 'number'],
            ['Net', (row) => formatToken(netOf(row)), 'number'],
            ['Payments', ({ count }) => formatNumber(count), 'number'],
          ]}
        />
      </details>
    </>
  )
}

const formatValue = (value: number): string => formatDecimal(String(value))

function seriesOf(
  token: string | undefined,
  groups: readonly RevenueGroup[],
  days: readonly string[],
) {
  const own = groups.filter((group) => tokenOf(group) === token)
  const byDay = new Map(
    own.map(({ day, net, decimals = 0 }) => [day, Number(decimalOf(net, decimals))]),
  )
  return {
    label: own[0]?.symbol ?? 'Token',
    colour: 'accent',
    values: days.map((day) => byDay.get(day) ?? 0),
    isBars: true,
  }
}

interface RevenueSharesProps extends Of<readonly RevenueGroup[]> {
  readonly by: 'project' | 'resource'
}

/** How many groups are shown at first. */
const FIRST_SHARES = 10

export function RevenueShares({ of, by }: RevenueSharesProps) {
  const [showsAll, setShowsAll] = useState(false)
  if (of.length === 0) return <Empty title="No settled payments in this period." />
  const rows = showsAll ? of : of.slice(0, FIRST_SHARES)
  return (
    <>
      <Table
        caption={by === 'project' ? 'Revenue by merchant' : 'Revenue by resource'}
        rows={rows}
        keyOf={(group) => `${group[by] ?? ''} ${String(group.other)} ${tokenOf(group)}`}
        columns={[
          [
            by === 'project' ? 'Merchant' : 'Resource',
            (group) => (
              <>
                <Name of={group} />
                <small class="sub">
                  <NetworkName of={group} />
                </small>
              </>
            ),
          ],
          ['Payments', ({ count }) => formatNumber(count), 'number minor'],
          ['Net revenue', (group) => <Money of={netOf(group)} />, 'number'],
        ]}
      />
      {rows.length < of.length && (
        <Button onClick={() => setShowsAll(true)}>Show all {formatNumber(of.length)}</Button>
      )}
    </>
  )
}

function Name({ of: { project, resource, other } }: Of<RevenueGroup>) {
  if (other) return <>All others</>
  if (project) return <a href={linkTo(['overview'], { project })}>{project}</a>
  return resource ? <StrangerUrl url={resource} /> : <>Unknown</>
}

/** Sums groups of one token each, those with most payments first. */
export function sumByToken(groups: readonly RevenueGroup[]): readonly RevenueGroup[] {
  const sums = new Map<string, RevenueGroup>()
  for (const group of groups) {
    const name = tokenOf(group)
    const before = sums.get(name)
    sums.set(name, before === undefined ? group : added(before, group))
  }
  return [...sums.values()].toSorted((one, other) => other.count - one.count)
}

function added(one: RevenueGroup, other: RevenueGroup): RevenueGroup {
  const sum = (name: 'amount' | 'refunded' | 'net'): string =>
    String(BigInt(one[name]) + BigInt(other[name]))
  return {
    ...one,
    amount: sum('amount'),
    refunded: sum('refunded'),
    net: sum('net'),
    count: one.count + other.count,
    refunds: one.refunds + other.refunds,
  }
}

/** What is left after refunds. */
export function netOf(group: RevenueGroup): TokenAmount {
  return { ...group, amount: group.net }
}

/** Names the token of a group. */
export const tokenOf = ({ network, asset }: RevenueGroup): string => `${network} ${asset}`
