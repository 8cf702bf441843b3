import type { Settlement } from '../api/documents.js'
import { formatToken } from '../format/money.js'
import { shorten } from '../format/text.js'
import { PaymentBadge } from '../parts/badge.js'
import { Table, type Column } from '../parts/table.js'
import { MerchantLink, Money, NetworkName, Time } from '../parts/values.js'
import { linkTo } from '../state/route.js'
import { useSession } from '../state/session.js'

interface SettlementTableProps {
  readonly caption: string
  readonly rows: readonly Settlement[]
}

export function SettlementTable({ caption, rows }: SettlementTableProps) {
  const { role } = useSession()
  const project: readonly Column<Settlement>[] =
    role === 'admin'
      ? [{ title: 'Merchant', isMinor: true, cell: (one) => <MerchantLink id={one.project} /> }]
      : []
  return (
    <Table
      caption={caption}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Time',
          cell: (one) => (
            <>
              <TimeLink of={one} />
              <span class="phone">
                <What of={one} />
              </span>
            </>
          ),
        },
        { title: 'Status', cell: (one) => <Status of={one} /> },
        { title: 'Amount', isNumber: true, cell: (one) => <Money of={one} /> },
        { title: 'Network', isMinor: true, cell: (one) => <NetworkName of={one} /> },
        ...project,
        { title: 'For', isMinor: true, cell: (one) => <What of={one} /> },
        {
          title: 'Payer',
          isMinor: true,
          cell: ({ payer }) => (
            <a
              class="above"
              href={linkTo(['settlements'], { search: payer })}
              title={`Payments of ${payer}`}
            >
              <code>{shorten(payer)}</code>
            </a>
          ),
        },
      ]}
    />
  )
}

function Status({ of }: { readonly of: Settlement }) {
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
function What({ of: { reference, resource, route, method } }: { readonly of: Settlement }) {
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

function TimeLink({ of }: { readonly of: Settlement }) {
  return (
    <a class="whole-row" href={linkTo(['settlements', of.id])}>
      <Time at={of.createdAt} as="short" />
    </a>
  )
}
