import { useState } from 'preact/hooks'
import type { Project, ProjectList } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { formatNumber, shorten } from '../format/text.js'
import { Badge } from '../parts/badge.js'
import { Button } from '../parts/button.js'
import { Dialog } from '../parts/dialog.js'
import { Empty, NoResults } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page } from '../parts/page.js'
import { Search } from '../parts/search.js'
import { List } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { cursorOf, linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { useSession } from '../state/session.js'
import { canSell, draftOf } from './merchant-draft.js'
import { MerchantForm } from './merchant-form.js'

/** Merchants, searched and sorted as the URL says. */
export function Merchants({ route }: { readonly route: Route }) {
  const [isNew, setNew] = useState(false)
  const search = route.query.get('search') ?? ''
  const sort = route.query.get('sort') ?? '-created'
  const query = queryOf({ search, sort, cursor: cursorOf(route), limit: '50' })
  /** Sorts by a column; if it is sorted by that already, the other way round. */
  const sortBy = (name: string, first = name) => ({
    href: linkTo(['merchants'], { search, sort: sort === first ? reversed(first) : first }),
    now: DIRECTIONS[sort.replace(name, '')],
  })
  return (
    <Page
      title="Merchants"
      actions={
        <Button kind="main" scope="manage" onClick={() => setNew(true)}>
          New merchant
        </Button>
      }
    >
      <SearchField key={search} of={search} sort={sort} />
      <List
        of={useLoad<ProjectList>(`admin/projects${query}`)}
        rows={({ projects }) => projects}
        room="tall"
        route={route}
        lead={({ total }) => (
          <p class="note" role="status">
            {formatNumber(total)} {total === 1 ? 'merchant' : 'merchants'}
          </p>
        )}
        empty={() => (search === '' ? NONE : NOT_FOUND)}
        caption="Merchants"
        columns={[
          ['Merchant', (one) => <Name of={one} />, '', sortBy('id')],
          ['Name', ({ merchant }) => merchant?.name ?? '–', 'minor', sortBy('name')],
          ['State', (one) => <State of={one} />],
          ['Currency', ({ merchant }) => merchant && (merchant.currency ?? 'USD'), 'minor'],
          ['Paid to', (one) => <PaidTo of={one} />],
          [
            'Created',
            ({ createdAt }) => (createdAt ? <Time at={createdAt} as="ago" /> : 'configured'),
            'minor',
            sortBy('created', '-created'),
          ],
        ]}
      />
      {isNew && (
        <Dialog title="New merchant" onClose={() => setNew(false)}>
          <MerchantForm
            project={undefined}
            onCancel={() => setNew(false)}
            onSaved={({ id }) => navigate(linkTo(['merchants', id]))}
          />
        </Dialog>
      )}
    </Page>
  )
}

function SearchField({ of, sort }: Of<string> & { readonly sort: string }) {
  const [text, setText] = useState(of)
  return (
    <Search
      value={text}
      onValue={setText}
      hint="A part of an id, a name or an address."
      onSearch={() => navigate(linkTo(['merchants'], { sort, search: text.trim() }))}
    />
  )
}

const NONE = <Empty title="No merchants yet">Create a merchant and give it a token.</Empty>

const NOT_FOUND = <NoResults href={linkTo(['merchants'])} verb="Clear the search" />

const DIRECTIONS: Readonly<Record<string, 'ascending' | 'descending'>> = {
  '': 'ascending',
  '-': 'descending',
}

const reversed = (sort: string): string => (sort.startsWith('-') ? sort.slice(1) : `-${sort}`)

const Name = ({ of: { id, merchant } }: Of<Project>) => (
  <>
    <a href={linkTo(['merchants', id])}>{id}</a>
    <small class="sub phone">{merchant?.name}</small>
  </>
)

const PaidTo = ({ of: { merchant } }: Of<Project>) =>
  merchant?.payTo ? <code title={merchant.payTo}>{shorten(merchant.payTo)}</code> : null

/** Whether a merchant can be paid. */
function State({ of }: Of<Project>) {
  const { errors, merchant, paused } = of
  const { networks } = useSession()
  if (paused) return <Badge tone="wait">paused</Badge>
  if (errors !== undefined || merchant === undefined)
    return <Badge tone="bad">cannot be paid</Badge>
  if (!canSell(networks, draftOf(of))) return <Badge tone="wait">sells nothing</Badge>
  return <Badge tone="good">active</Badge>
}
