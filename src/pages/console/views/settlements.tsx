import type { SettlementPage, SettlementSummary } from '../api/documents.js'
import { apiUrl } from '../api/client.js'
import { useFresh } from '../api/use-load.js'
import { formatToken } from '../format/money.js'
import { formatNumber } from '../format/text.js'
import { spanOf } from '../parts/date-range.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Page } from '../parts/page.js'
import { Pager } from '../parts/pager.js'
import { Money, NetworkName } from '../parts/values.js'
import { cursorOf, linkTo, queryOf, type Route } from '../state/route.js'
import { useSession } from '../state/session.js'
import { FILTERS, SettlementFilters, type Filters } from './settlement-filters.js'
import { SettlementTable } from './settlement-table.js'

export function Settlements({ route }: { readonly route: Route }) {
  const { role } = useSession()
  const filters = filtersOf(route)
  const query = { ...filters, ...spanOf(filters) }
  const page = useFresh<SettlementPage>(
    `${role}/settlements${queryOf({ ...query, cursor: cursorOf(route) })}`,
  )
  const isFiltered = Object.values(filters).some((value) => value !== '')
  // The gateway sums those of one merchant, or what a search finds.
  const isSummed = isFiltered && (role === 'merchant' || filters.project + filters.search !== '')
  const summary = useFresh<SettlementSummary>(
    isSummed ? `${role}/settlements-summary${queryOf(query)}` : undefined,
  )
  return (
    <Page
      title="Settlements"
      actions={
        <a class="button" href={apiUrl(`${role}/settlements.csv${queryOf(query)}`)} download>
          Download CSV
        </a>
      }
    >
      <SettlementFilters key={JSON.stringify(filters)} value={filters} />
      {isSummed && summary.data && <Summary of={summary.data} />}
      <LoadedView of={page} room="tall">
        {({ settlements, nextCursor }) => (
          <>
            {settlements.length === 0 ? (
              <NoSettlements isFiltered={isFiltered} hasOlder={nextCursor !== undefined} />
            ) : (
              <SettlementTable caption="Settlements" rows={settlements} />
            )}
            <Pager route={route} next={nextCursor} />
          </>
        )}
      </LoadedView>
    </Page>
  )
}

/** How many payments were found, and what they come to. */
function Summary({ of: { count, isMore, sums } }: { readonly of: SettlementSummary }) {
  return (
    <div class="found" role="status">
      <p>
        {formatNumber(count)} {count === 1 ? 'payment' : 'payments'}
        {isMore && ' among the newest; older ones are not summed'}
      </p>
      {sums.map((sum) => (
        <p key={`${sum.network} ${sum.asset}`}>
          <Money of={sum} /> <NetworkName of={sum} />
          {sum.refunded !== '0' && (
            <small class="sub">{formatToken({ ...sum, amount: sum.refunded })} refunded</small>
          )}
        </p>
      ))}
    </div>
  )
}

interface NoSettlementsProps {
  readonly isFiltered: boolean
  /** A search looks through some payments for each page. */
  readonly hasOlder: boolean
}

function NoSettlements({ isFiltered, hasOlder }: NoSettlementsProps) {
  if (hasOlder)
    return (
      <Empty title="No results among these payments">
        <p>Older ones follow on the next page. Dates or a merchant narrow the search down.</p>
      </Empty>
    )
  if (!isFiltered)
    return (
      <Empty title="No payments yet">
        <p>Payments appear here as buyers pay.</p>
      </Empty>
    )
  return (
    <Empty title="No results">
      <p>
        <a href={linkTo(['settlements'])}>Clear filters</a>
      </p>
    </Empty>
  )
}

function filtersOf({ query }: Route): Filters {
  const values = FILTERS.map((name) => [name, query.get(name) ?? ''])
  return Object.fromEntries(values) as Filters
}
