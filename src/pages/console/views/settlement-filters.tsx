import { useState } from 'preact/hooks'
import { DateRangeFields } from '../parts/date-range.js'
import { SelectField, TextField } from '../parts/field.js'
import { NetworkField } from '../parts/network-field.js'
import { ProjectField } from '../parts/project-field.js'
import { linkTo, navigate } from '../state/route.js'
import { useSession } from '../state/session.js'
import { readSearch, type Search } from './search.js'

/** Their names in the URL, and in the API. */
export const FILTERS = [
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

/** Filters of the list; empty ones do not apply. Days are inclusive. */
export type Filters = Readonly<Record<(typeof FILTERS)[number], string>>

const STATUSES = [
  ['', 'Any status'],
  ['settled', 'Settled'],
  ['pending', 'Pending'],
  ['failed', 'Failed'],
  ['reserved', 'Reserved'],
] as const

const KINDS = {
  nothing: 'Part of a payer (0x12…ab) or reference; a whole transaction, URL or id',
  payer: 'Searches by payer',
  transaction: 'Searches by transaction',
  settlement: 'Opens the payment with this id',
  resource: 'Searches for exactly this URL',
  part: 'Searches in references',
} as const satisfies Record<Search, string>

export function SettlementFilters({ value }: { readonly value: Filters }) {
  const [search, setSearch] = useState(value.search)
  const [minAmount, setLeast] = useState(value.minAmount)
  const [maxAmount, setMost] = useState(value.maxAmount)
  const found = readSearch(search)
  const go = (change: Partial<Filters>): void => {
    const typed = {
      search: search.trim(),
      minAmount: minAmount.trim(),
      maxAmount: maxAmount.trim(),
    }
    if (found === 'settlement') navigate(linkTo(['settlements', typed.search]))
    else navigate(linkTo(['settlements'], { ...value, ...typed, ...change }))
  }
  return (
    <form
      class="toolbar"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        go({})
      }}
    >
      <div class="search">
        <TextField
          label="Search"
          type="search"
          value={search}
          onValue={setSearch}
          hint={KINDS[found]}
        />
        <button type="submit" class="button">
          Search
        </button>
      </div>
      <SelectField
        label="Status"
        value={value.status}
        onValue={(status) => go({ status })}
        options={STATUSES}
      />
      <NetworkField value={value.network} onValue={(network) => go({ network })} />
      <ProjectField value={value.project} onValue={(project) => go({ project })} />
      <TokenField value={value.token} onValue={(token) => go({ token })} />
      <div class="amounts">
        <TextField
          label="Amount from"
          inputMode="decimal"
          value={minAmount}
          onValue={setLeast}
          placeholder="0.25"
        />
        <TextField label="Amount to" inputMode="decimal" value={maxAmount} onValue={setMost} />
      </div>
      <DateRangeFields value={value} onValue={({ from, to }) => go({ from, to })} mayBeOpen />
    </form>
  )
}

interface TokenFieldProps {
  readonly value: string
  readonly onValue: (token: string) => void
}

/** Chooses a token, where the gateway has several. */
function TokenField({ value, onValue }: TokenFieldProps) {
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
