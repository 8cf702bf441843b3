import { useState } from 'preact/hooks'
import { DateRangeFields } from '../parts/date-range.js'
import { SelectField, TextField } from '../parts/field.js'
import { NetworkField } from '../parts/network-field.js'
import { ProjectField } from '../parts/project-field.js'
import { linkTo, navigate } from '../state/route.js'
import { readSearch } from './search.js'

/** Filters of the list; empty ones do not apply. Days are inclusive. */
export type Filters = Readonly<
  Record<'search' | 'status' | 'network' | 'project' | 'from' | 'to', string>
>

const STATUSES = [
  ['', 'Any status'],
  ['settled', 'Settled'],
  ['pending', 'Pending'],
  ['failed', 'Failed'],
  ['reserved', 'Reserved'],
] as const

const KINDS = {
  nothing: 'Payer, transaction, URL of a resource, reference, or id',
  partial: 'Paste the whole address or hash, or click a payer in the list',
  payer: 'Searches by payer',
  transaction: 'Searches by transaction',
  settlement: 'Opens the payment with this id',
  resource: 'Searches for exactly this resource',
  reference: 'Searches for exactly this reference',
} as const

export function SettlementFilters({ value }: { readonly value: Filters }) {
  const [search, setSearch] = useState(value.search)
  const found = readSearch(search)
  const go = (change: Partial<Filters>): void => {
    if (found.kind === 'settlement') navigate(linkTo(['settlements', found.id]))
    else navigate(linkTo(['settlements'], { ...value, search: search.trim(), ...change }))
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
          hint={KINDS[found.kind]}
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
      <DateRangeFields value={value} onValue={({ from, to }) => go({ from, to })} mayBeOpen />
    </form>
  )
}
