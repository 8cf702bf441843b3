import { useState } from 'preact/hooks'
import type { Checkout, CheckoutPage } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { formatFiat } from '../format/money.js'
import { Dialog } from '../parts/dialog.js'
import { SelectField } from '../parts/field.js'
import { May } from '../parts/may.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Page } from '../parts/page.js'
import { Pager } from '../parts/pager.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/values.js'
import { cursorOf, linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { LinkStatus, PaymentLink } from './payment-link.js'
import { PaymentLinkForm } from './payment-link-form.js'

interface PaymentLinksProps {
  readonly route: Route
  /** The merchant, for an operator. @defaultValue the merchant that is signed in */
  readonly project?: string
}

const STATUSES = [
  ['', 'Any status'],
  ['open', 'Open'],
  ['paid', 'Paid'],
  ['expired', 'Expired'],
  ['canceled', 'Canceled'],
] as const

/** Payment links of a merchant. */
export function PaymentLinks({ route, project }: PaymentLinksProps) {
  const path = pathOf(project)
  const status = route.query.get('status') ?? ''
  const loaded = useLoad<CheckoutPage>(`${path}${queryOf({ status, cursor: cursorOf(route) })}`)
  const [isNew, setNew] = useState(false)
  const [shown, setShown] = useState<Checkout>()
  return (
    <Page
      title="Payment links"
      {...(project !== undefined && {
        back: { href: linkTo(['merchants', project]), label: project },
      })}
      actions={
        <May scope="settle">
          <button type="button" class="button button-main" onClick={() => setNew(true)}>
            New payment link
          </button>
        </May>
      }
    >
      <StatusField route={route} value={status} />
      <LoadedView of={loaded} room="tall">
        {({ checkouts, nextCursor }) => (
          <>
            {checkouts.length === 0 ? (
              <NoLinks route={route} isFiltered={status !== ''} />
            ) : (
              <LinkTable of={checkouts} onShow={setShown} />
            )}
            <Pager route={route} next={nextCursor} />
          </>
        )}
      </LoadedView>
      {isNew && (
        <Dialog title="New payment link" onClose={() => setNew(false)}>
          <PaymentLinkForm
            path={path}
            onCancel={() => setNew(false)}
            onSaved={(created) => {
              setNew(false)
              setShown(created)
              loaded.reload()
            }}
          />
        </Dialog>
      )}
      {shown !== undefined && (
        <Dialog title="Payment link" onClose={() => setShown(undefined)}>
          <PaymentLink
            path={`${path}/${shown.id}`}
            of={shown}
            onClose={() => setShown(undefined)}
            onCancel={loaded.reload}
          />
        </Dialog>
      )}
    </Page>
  )
}

function StatusField({ route, value }: { readonly route: Route; readonly value: string }) {
  return (
    <div class="toolbar">
      <SelectField
        label="Status"
        value={value}
        onValue={(status) => navigate(linkTo(route.path, { status }))}
        options={STATUSES}
      />
    </div>
  )
}

interface NoLinksProps {
  readonly route: Route
  readonly isFiltered: boolean
}

function NoLinks({ route, isFiltered }: NoLinksProps) {
  if (isFiltered)
    return (
      <Empty title="No results">
        <p>
          <a href={linkTo(route.path)}>Clear filters</a>
        </p>
      </Empty>
    )
  return (
    <Empty title="No payment links yet">
      <p>A payment link can be sent to anybody, and is paid once.</p>
    </Empty>
  )
}

const pathOf = (project: string | undefined): string =>
  project === undefined
    ? 'merchant/checkouts'
    : `admin/projects/${encodeURIComponent(project)}/checkouts`

interface LinkTableProps {
  readonly of: readonly Checkout[]
  readonly onShow: (checkout: Checkout) => void
}

function LinkTable({ of, onShow }: LinkTableProps) {
  return (
    <Table
      caption="Payment links"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'For',
          cell: ({ reference, description }) => (
            <>
              {description ?? reference ?? '–'}
              {description !== undefined && <small class="sub">{reference}</small>}
            </>
          ),
        },
        {
          title: 'Price',
          isNumber: true,
          cell: ({ amount, currency }) => formatFiat(amount, currency),
        },
        { title: 'Status', cell: (one) => <LinkStatus of={one} /> },
        {
          title: 'Created',
          isMinor: true,
          cell: ({ createdAt }) => <Time at={createdAt} as="ago" />,
        },
        {
          title: 'Expires',
          isMinor: true,
          cell: ({ status, expiresAt }) =>
            status === 'open' ? <Time at={expiresAt} as="short" /> : '–',
        },
        {
          title: 'Link',
          cell: (one) => (
            <button
              type="button"
              class="button button-small"
              aria-label={`Show the link for ${one.description ?? one.reference ?? one.id}`}
              onClick={() => onShow(one)}
            >
              Show
            </button>
          ),
        },
      ]}
    />
  )
}
