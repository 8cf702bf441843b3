import { useMemo, useState } from 'preact/hooks'
import { csvLine } from '../../../shared/csv.js'
import type { Revenue, RevenueGroup, TokenAmount } from '../api/documents.js'
import { decimalOf, formatDecimal, formatToken } from '../format/money.js'
import { formatChange, formatDay, formatNumber } from '../format/text.js'
import { Button } from '../parts/button.js'
import { Chart } from '../parts/chart.js'
import { daysOf, today, type DateRange } from '../parts/date-range.js'
import { SelectField } from '../parts/field.js'
import { Empty } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Section } from '../parts/page.js'
import { Table } from '../parts/table.js'
import { Money, NetworkName, StrangerUrl } from '../parts/values.js'
import { linkTo } from '../state/route.js'
import { findNetwork, useSession } from '../state/session.js'

interface RevenueProps extends Of<Revenue> {
  readonly range: DateRange
  /** The merchant that was chosen; empty for all. */
  readonly project: string
}

export function RevenueChart({ of: { revenue }, range, project }: RevenueProps) {
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
            [
              'Payments',
              (row) => (
                <PaymentsLink of={{ ...filtersOf(row), project, from: row.day, to: row.day }}>
                  {row.count}
                </PaymentsLink>
              ),
              'number',
            ],
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

/** Filters of the list of payments that find those of a group. */
const filtersOf = ({ project, network, symbol, asset }: RevenueGroup) => ({
  ...(project !== undefined && { project }),
  network,
  token: symbol ?? asset,
})

interface PaymentsLinkProps extends Of<Readonly<Record<string, string | undefined>>> {
  readonly children: number
}

/** A number of payments, linked to their list. */
export const PaymentsLink = ({ of, children }: PaymentsLinkProps) => (
  <a href={linkTo(['settlements'], { status: 'settled', ...of })}>{formatNumber(children)}</a>
)

interface RevenueSharesProps extends RevenueProps {
  /** The same of the period before, once it is known. */
  readonly before: Revenue | undefined
}

/** How many groups are shown at first, and how many more at a time. */
const SHARES = 20

export function RevenueShares({ of, before, range, project }: RevenueSharesProps) {
  const [shown, setShown] = useState(SHARES)
  const { by, revenue } = of
  const title = by === 'project' ? 'Revenue by merchant' : 'Revenue by resource'
  const left = revenue.length - shown
  return (
    <Section
      title={title}
      note="The most money first. Change: against as many days before."
      actions={
        <a
          class="button"
          href={csvOf(of, before)}
          download={`revenue-${range.from}-${range.to}.csv`}
        >
          Download CSV
        </a>
      }
    >
      <Table
        caption={title}
        rows={revenue.slice(0, shown)}
        keyOf={nameOf}
        columns={[
          [
            by === 'project' ? 'Merchant' : 'Resource',
            (group) => (
              <>
                <Name of={group} />
                <small class="sub">
                  {group.merchantName && `${group.project} · `}
                  <NetworkName of={group} />
                </small>
              </>
            ),
          ],
          [
            'Payments',
            (group) =>
              group.project === undefined ? (
                formatNumber(group.count)
              ) : (
                <PaymentsLink of={{ ...range, project, ...filtersOf(group) }}>
                  {group.count}
                </PaymentsLink>
              ),
            'number minor',
          ],
          ['Net revenue', (group) => <Money of={netOf(group)} />, 'number'],
          ['Change', (group) => <Change of={group} before={before?.revenue} />, 'number'],
        ]}
      />
      {left > 0 && (
        <Button onClick={() => setShown(shown + SHARES)}>
          Show {formatNumber(Math.min(SHARES, left))} more of {formatNumber(left)}
        </Button>
      )}
    </Section>
  )
}

/** Names a group among those of an answer. */
const nameOf = (group: RevenueGroup): string =>
  `${group.project ?? group.resource ?? ''} ${String(group.other)} ${tokenOf(group)}`

interface ChangeProps extends Of<RevenueGroup> {
  readonly before: readonly RevenueGroup[] | undefined
}

/** The change of a sum against the period before, and what it was then. */
export function Change({ of, before }: ChangeProps) {
  if (before === undefined) return <span class="change">–</span>
  const was = netOf(before.find((one) => nameOf(one) === nameOf(of)) ?? { ...of, net: '0' })
  return (
    <span class="change">
      {formatChange(Number(of.net), Number(was.amount))}
      <small class="sub minor">{formatToken(was)} before</small>
    </span>
  )
}

/** The groups as a file, whose address holds it. */
function csvOf({ by, revenue }: Revenue, before: Revenue | undefined): string {
  const was = new Map(before?.revenue.map((one) => [nameOf(one), one.net]))
  const lines = revenue.map((group) => {
    const { decimals, network, symbol, asset, count, amount, refunded, net } = group
    const inTokens = (units: string): string => decimalOf(units, decimals ?? 0)
    const key = group.other ? 'all others' : (group.project ?? group.resource)
    const sums = [amount, refunded, net, was.get(nameOf(group)) ?? '0'].map(inTokens)
    return csvLine([key, group.merchantName, network, symbol, asset, count, ...sums])
  })
  const head = ['network', 'symbol', 'asset', 'count', 'amount', 'refunded', 'net', 'netBefore']
  const text = csvLine([by, 'merchantName', ...head]) + lines.join('')
  return `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`
}

function Name({ of: { project, merchantName, resource, other } }: Of<RevenueGroup>) {
  if (other) return <>All others</>
  if (project) return <a href={linkTo(['overview'], { project })}>{merchantName ?? project}</a>
  return resource ? <StrangerUrl url={resource} /> : <>Unknown</>
}

/** Sums groups of one token each, those with most payments first. */
export function sumByToken(groups: readonly RevenueGroup[]): readonly RevenueGroup[] {
  const sums = new Map<string, RevenueGroup>()
  for (const group of groups) {
    const name = tokenOf(group)
    const before = sums.get(name)
    sums.set(name, before === undefined ? { ...group, ...OF_ALL } : added(before, group))
  }
  return [...sums.values()].toSorted((one, other) => other.count - one.count)
}

/** A sum names no group. */
const OF_ALL = { project: undefined, resource: undefined, other: undefined }

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

export const tokenOf = ({ network, asset }: RevenueGroup): string => `${network} ${asset}`
