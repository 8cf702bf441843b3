import { useState } from 'preact/hooks'
import { apiUrl } from '../api/client.js'
import type { ListOf, Settlement, SettlementSummary } from '../api/documents.js'
import { useFresh } from '../api/use-load.js'
import { formatToken } from '../format/money.js'
import { formatNumber, shorten } from '../format/text.js'
import { PaymentBadge } from '../parts/badge.js'
import { DateRangeFields, spanOf } from '../parts/date-range.js'
import { optionsOf, SelectField, TextField, type Controlled } from '../parts/field.js'
import { NetworkField } from '../parts/network-field.js'
import { Empty, NoResults } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page } from '../parts/page.js'
import { ProjectField } from '../parts/project-field.js'
import { Search } from '../parts/search.js'
import { List } from '../parts/table.js'
import { merchantColumns, Money, NetworkName, Time } from '../parts/values.js'
import { cursorOf, filtersOf, linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { useSession } from '../state/session.js'
import { readSearch, type Search as Found } from './search.js'

/** Their names in the URL, and in the API. Days are inclusive. */
const FILTERS = [
  'search',
  'status',
  'network',
  'project',
  'token',
  'minAmount',
  'maxAmount',
  'from',
  'to',
] as const

type Filters = ReturnType<typeof filtersOf<(typeof FILTERS)[number]>>

const HERE = linkTo(['settlements'])

export function Settlements({ route }: { readonly route: Route }) {
  const { role } = useSession()
  const filters = filtersOf(route, FILTERS)
  const { values, isFiltered } = filters
  const query = { ...values, ...spanOf(values) }
  const page = `${role}/settlements${queryOf({ ...query, cursor: cursorOf(route) })}`
  const summary = useFresh<SettlementSummary>(
    isFiltered ? `${role}/settlements-summary${queryOf(query)}` : undefined,
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
      <Toolbar key={JSON.stringify(values)} of={filters} />
      {isFiltered && summary.data && <Summary of={summary.data} />}
      <List
        of={useFresh<ListOf<'settlements', Settlement>>(page)}
        rows={({ settlements }) => settlements}
        room="tall"
        route={route}
        empty={({ nextCursor }) => (nextCursor === undefined ? none(isFiltered) : NONE_HERE)}
        caption="Settlements"
        columns={[
          ['Time', (one) => <When of={one} />],
          ['Status', (one) => <Status of={one} />],
          ['Amount', (one) => <Money of={one} />, 'number'],
          ['Network', (one) => <NetworkName of={one} />, 'minor'],
          ...merchantColumns<Settlement>(role),
          ['For', (one) => <What of={one} />, 'minor'],
          ['Payer', (one) => <Payer of={one} />, 'minor'],
        ]}
      />
    </Page>
  )
}

/** Each page looks through some payments for an amount or a token. */
const NONE_HERE = (
  <Empty title="No results among these payments">
    Older ones follow on the next page. Dates or a merchant narrow the search down.
  </Empty>
)

const none = (isFiltered: boolean) =>
  isFiltered ? (
    <NoResults href={HERE} />
  ) : (
    <Empty title="No payments yet">Payments appear here as buyers pay.</Empty>
  )

const STATUSES = optionsOf('Any status', ['settled', 'pending', 'failed', 'reserved'])

const HINTS = {
  nothing: 'Beginning of a payer (0x12) or reference; a whole transaction, URL or id',
  payer: 'Searches by payer',
  transaction: 'Searches by transaction',
  settlement: 'Opens the payment with this id',
  resource: 'Searches for exactly this URL',
  reference: 'Searches for references that begin so',
} as const satisfies Record<Found, string>

function Toolbar({ of: { values, go: filter } }: Of<Filters>) {
  const [typed, setTyped] = useState(values)
  const found = readSearch(typed.search)
  const go = (change: Partial<typeof values>): void => {
    const search = typed.search.trim()
    const [minAmount, maxAmount] = [typed.minAmount.trim(), typed.maxAmount.trim()]
    if (found === 'settlement') navigate(linkTo(['settlements', search]))
    else filter({ search, minAmount, maxAmount, ...change })
  }
  // These apply once they are submitted, or when another one is chosen.
  const typing = (name: 'search' | 'minAmount' | 'maxAmount') => ({
    value: typed[name],
    onValue: (text: string) => setTyped({ ...typed, [name]: text }),
  })
  const choice = (name: keyof typeof values) => ({
    value: values[name],
    onValue: (chosen: string) => go({ [name]: chosen }),
  })
  return (
    <Search {...typing('search')} hint={HINTS[found]} onSearch={() => go({})}>
      <SelectField label="Status" options={STATUSES} {...choice('status')} />
      <NetworkField {...choice('network')} />
      <ProjectField {...choice('project')} />
      <TokenField {...choice('token')} />
      <div class="amounts">
        <TextField
          label="Amount from"
          inputMode="decimal"
          placeholder="0.25"
          {...typing('minAmount')}
        />
        <TextField label="Amount to" inputMode="decimal" {...typing('maxAmount')} />
      </div>
      <DateRangeFields value={values} onValue={({ from, to }) => go({ from, to })} mayBeOpen />
    </Search>
  )
}

/** Chooses a token, where the gateway has several. */
function TokenField({ value, onValue }: Controlled) {
  const { networks } = useSession()
  const symbols = new Set(networks.flatMap(({ assets }) => assets.map(({ symbol }) => symbol)))
  // A link may name another one.
  if (value !== '') symbols.add(value)
  if (symbols.size < 2) return null
  const options = [...symbols].map((symbol) => [symbol, symbol] as const)
  return (
    <SelectField
      label="Token"
      value={value}
      onValue={onValue}
      options={[['', 'All tokens'], ...options]}
    />
  )
}

/** How many payments were found, and what they come to. */
function Summary({ of: { count, isMore, sums } }: Of<SettlementSummary>) {
  return (
    <div class="found" role="status">
      <p>
        {formatNumber(count)} {count === 1 ? 'payment' : 'payments'}
        {isMore && ' summed so far; there may be more'}
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

const When = ({ of }: Of<Settlement>) => (
  <>
    <a class="whole-row" href={linkTo(['settlements', of.id])}>
      <Time at={of.createdAt} as="short" />
    </a>
    <span class="phone">
      <What of={of} />
    </span>
  </>
)

function Status({ of }: Of<Settlement>) {
  const { refunded, amount } = of
  return (
    <>
      <PaymentBadge of={of} />
      {refunded !== undefined && refunded !== amount && (
        <small class="sub">{formatToken({ ...of, amount: refunded })} back</small>
      )}
    </>
  )
}

/** The purchase: its reference and where it was made. */
function What({ of: { reference, resource, route, method } }: Of<Settlement>) {
  const place = route ?? pathOf(resource)
  return (
    <span class="what">
      {reference !== undefined && <span>{reference}</span>}
      {place !== undefined && (
        <small class="sub" title={resource}>
          {method} {place}
        </small>
      )}
    </span>
  )
}

function pathOf(resource: string | undefined): string | undefined {
  if (resource === undefined || !URL.canParse(resource)) return resource
  const { pathname, search } = new URL(resource)
  return pathname + search
}

function Payer({ of: { payer } }: Of<Settlement>) {
  const href = linkTo(['settlements'], { search: payer })
  return (
    <a class="above" href={href} title={`Payments of ${payer}`}>
      <code>{shorten(payer)}</code>
    </a>
  )
}
