import type { RefundPage } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { shorten } from '../format/text.js'
import { DateRangeFields, spanOf } from '../parts/date-range.js'
import { SelectField } from '../parts/field.js'
import { NetworkField } from '../parts/network-field.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Page } from '../parts/page.js'
import { Pager } from '../parts/pager.js'
import { ProjectField } from '../parts/project-field.js'
import { Table, type Column } from '../parts/table.js'
import { MerchantLink, Money, NetworkName, Time } from '../parts/values.js'
import { cursorOf, linkTo, navigate, queryOf, type Route } from '../state/route.js'
import { useSession } from '../state/session.js'
import { RefundStatus, Why } from './refunds.js'

const STATUSES = [
  ['', 'Any status'],
  ['settled', 'Settled'],
  ['pending', 'Pending'],
  ['failed', 'Failed'],
] as const

/** The refunds of all settlements. */
export function RefundList({ route }: { readonly route: Route }) {
  const { role } = useSession()
  const get = (name: string): string => route.query.get(name) ?? ''
  const [status, network, project] = [get('status'), get('network'), get('project')]
  const [from, to, cursor] = [get('from'), get('to'), cursorOf(route)]
  const filters = { status, network, project, from, to }
  const go = (change: Partial<typeof filters>): void =>
    navigate(linkTo(['refunds'], { ...filters, ...change }))
  const asked = { status, network, project, ...spanOf({ from, to }), cursor }
  const page = useLoad<RefundPage>(`${role}/refunds${queryOf(asked)}`)
  return (
    <Page title="Refunds">
      <div class="toolbar">
        <SelectField
          label="Status"
          value={status}
          onValue={(chosen) => go({ status: chosen })}
          options={STATUSES}
        />
        <NetworkField value={network} onValue={(chosen) => go({ network: chosen })} />
        <ProjectField value={project} onValue={(chosen) => go({ project: chosen })} />
        <DateRangeFields value={{ from, to }} onValue={(range) => go(range)} mayBeOpen />
      </div>
      <LoadedView of={page} room="tall">
        {({ refunds, nextCursor }) => (
          <>
            {refunds.length === 0 ? (
              <Empty title="No refunds">
                <p>Open a settlement to refund it.</p>
              </Empty>
            ) : (
              <RefundTable of={refunds} />
            )}
            <Pager route={route} next={nextCursor} />
          </>
        )}
      </LoadedView>
    </Page>
  )
}

type Refund = RefundPage['refunds'][number]

function RefundTable({ of }: { readonly of: readonly Refund[] }) {
  const { role } = useSession()
  const merchant: readonly Column<Refund>[] =
    role === 'admin'
      ? [{ title: 'Merchant', isMinor: true, cell: ({ project }) => <MerchantLink id={project} /> }]
      : []
  return (
    <Table
      caption="Refunds"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Time',
          cell: (one) => (
            <>
              <a href={linkTo(['settlements', one.settlement])}>
                <Time at={one.createdAt} as="short" />
              </a>
              <span class="phone">
                <Why of={one} />
              </span>
            </>
          ),
        },
        { title: 'Status', cell: (one) => <RefundStatus of={one} /> },
        { title: 'Amount', isNumber: true, cell: (one) => <Money of={one} /> },
        { title: 'Reason', isMinor: true, cell: (one) => <Why of={one} /> },
        { title: 'For', isMinor: true, cell: ({ reference, route }) => reference ?? route ?? '–' },
        { title: 'Network', isMinor: true, cell: (one) => <NetworkName of={one} /> },
        ...merchant,
        {
          title: 'Buyer',
          isMinor: true,
          cell: ({ payTo }) => <code title={payTo}>{shorten(payTo)}</code>,
        },
      ]}
    />
  )
}
