import { useState } from 'preact/hooks'
import type { Project, ProjectList } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { formatNumber, shorten } from '../format/text.js'
import { Badge } from '../parts/badge.js'
import { Dialog } from '../parts/dialog.js'
import { May } from '../parts/may.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Page } from '../parts/page.js'
import { Pager } from '../parts/pager.js'
import { SearchField } from '../parts/search-field.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { cursorOf, linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { MerchantForm } from './merchant-form.js'

/** Merchants, searched and sorted as the URL says. */
export function Merchants({ route }: { readonly route: Route }) {
  const [isNew, setNew] = useState(false)
  const search = route.query.get('search') ?? ''
  const sort = route.query.get('sort') ?? '-created'
  const query = { search, sort, cursor: cursorOf(route), limit: '50' }
  const loaded = useLoad<ProjectList>(`admin/projects${queryOf(query)}`)
  return (
    <Page
      title="Merchants"
      actions={
        <May scope="manage">
          <button type="button" class="button button-main" onClick={() => setNew(true)}>
            New merchant
          </button>
        </May>
      }
    >
      <SearchField
        key={search}
        value={search}
        hint="A part of an id, a name or an address."
        onSearch={(text) => navigate(linkTo(['merchants'], { sort, search: text }))}
      />
      <LoadedView of={loaded} room="tall">
        {({ projects, total, nextCursor }) => (
          <>
            <p class="note" role="status">
              {formatNumber(total)} {total === 1 ? 'merchant' : 'merchants'}
            </p>
            {projects.length === 0 ? (
              <NoMerchants search={search} />
            ) : (
              <MerchantTable of={projects} search={search} sort={sort} />
            )}
            <Pager route={route} next={nextCursor} />
          </>
        )}
      </LoadedView>
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

function NoMerchants({ search }: { readonly search: string }) {
  if (search === '')
    return (
      <Empty title="No merchants yet">
        <p>Create a merchant and give it a token.</p>
      </Empty>
    )
  return (
    <Empty title="No results">
      <p>
        <a href={linkTo(['merchants'])}>Clear the search</a>
      </p>
    </Empty>
  )
}

interface MerchantTableProps {
  readonly of: readonly Project[]
  readonly search: string
  readonly sort: string
}

function MerchantTable({ of, search, sort }: MerchantTableProps) {
  /** Sorts by a column; if it is sorted by that already, the other way round. */
  const sortBy = (name: string, first = name) => ({
    href: linkTo(['merchants'], { search, sort: sort === first ? reversed(first) : first }),
    now: DIRECTIONS[sort.replace(name, '')],
  })
  return (
    <Table
      caption="Merchants"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Merchant',
          sort: sortBy('id'),
          cell: ({ id, merchant }) => (
            <>
              <a href={linkTo(['merchants', id])}>{id}</a>
              <small class="sub phone">{merchant?.name}</small>
            </>
          ),
        },
        {
          title: 'Name',
          isMinor: true,
          sort: sortBy('name'),
          cell: ({ merchant }) => merchant?.name ?? '–',
        },
        { title: 'State', cell: (project) => <State of={project} /> },
        {
          title: 'Currency',
          isMinor: true,
          cell: ({ merchant }) => merchant && (merchant.currency ?? 'USD'),
        },
        {
          title: 'Paid to',
          cell: ({ merchant }) =>
            merchant?.payTo && <code title={merchant.payTo}>{shorten(merchant.payTo)}</code>,
        },
        {
          title: 'Created',
          isMinor: true,
          sort: sortBy('created', '-created'),
          cell: ({ createdAt }) => (createdAt ? <Time at={createdAt} as="ago" /> : 'configured'),
        },
      ]}
    />
  )
}

const DIRECTIONS: Readonly<Record<string, 'ascending' | 'descending'>> = {
  '': 'ascending',
  '-': 'descending',
}

const reversed = (sort: string): string => (sort.startsWith('-') ? sort.slice(1) : `-${sort}`)

/** Whether a merchant can be paid. */
function State({ of: { errors, merchant, paused } }: { readonly of: Project }) {
  if (paused) return <Badge tone="wait">paused</Badge>
  if (errors !== undefined || merchant === undefined)
    return <Badge tone="bad">cannot be paid</Badge>
  return <Badge tone="good">active</Badge>
}
