import { useState } from 'preact/hooks'
import type { Project } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { shorten } from '../format/text.js'
import { Badge } from '../parts/badge.js'
import { Dialog } from '../parts/dialog.js'
import { May } from '../parts/may.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Page } from '../parts/page.js'
import { Pager } from '../parts/pager.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { MerchantForm } from './merchant-form.js'

interface Projects {
  readonly projects: readonly Project[]
  readonly nextCursor?: string
}

export function Merchants({ route }: { readonly route: Route }) {
  const [isNew, setNew] = useState(false)
  const cursor = route.query.get('cursor') ?? ''
  const loaded = useLoad<Projects>(`admin/projects${queryOf({ cursor, limit: '50' })}`)
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
      <LoadedView of={loaded} room="tall">
        {({ projects, nextCursor }) => (
          <>
            {projects.length === 0 ? (
              <Empty title="No merchants yet">
                <p>Create a merchant and give it a token.</p>
              </Empty>
            ) : (
              <MerchantTable of={projects} />
            )}
            <Pager
              first={cursor === '' ? undefined : linkTo(['merchants'])}
              next={nextCursor && linkTo(['merchants'], { cursor: nextCursor })}
            />
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

function MerchantTable({ of }: { readonly of: readonly Project[] }) {
  return (
    <Table
      caption="Merchants"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Merchant',
          cell: ({ id, merchant }) => (
            <>
              <a href={linkTo(['merchants', id])}>{id}</a>
              {merchant?.name && <small class="sub">{merchant.name}</small>}
            </>
          ),
        },
        { title: 'Source', cell: (project) => <Source of={project} /> },
        { title: 'Currency', cell: ({ merchant }) => merchant && (merchant.currency ?? 'USD') },
        {
          title: 'Paid to',
          isMinor: true,
          cell: ({ merchant }) =>
            merchant?.payTo && <code title={merchant.payTo}>{shorten(merchant.payTo)}</code>,
        },
        {
          title: 'Created',
          isMinor: true,
          cell: ({ createdAt }) => (createdAt ? <Time at={createdAt} as="ago" /> : '–'),
        },
      ]}
    />
  )
}

/** Source of a merchant, and whether it can be paid. */
function Source({ of: { source, errors } }: { readonly of: Project }) {
  if (errors !== undefined) return <Badge tone="bad">cannot be paid</Badge>
  return source === 'configuration' ? (
    <Badge tone="plain">from configuration</Badge>
  ) : (
    <Badge tone="good">database</Badge>
  )
}
