import type { Settlement } from '../api/documents.js'
import { shorten } from '../format/text.js'
import { StatusBadge } from '../parts/badge.js'
import { Table, type Column } from '../parts/table.js'
import { Money, Time } from '../parts/values.js'
import { linkTo } from '../state/route.js'
import { useSession } from '../state/session.js'

interface SettlementTableProps {
  readonly caption: string
  readonly rows: readonly Settlement[]
  /** Shows how long ago payments were. */
  readonly isAgo?: boolean
}

export function SettlementTable({ caption, rows, isAgo = false }: SettlementTableProps) {
  const { role } = useSession()
  const project: readonly Column<Settlement>[] =
    role === 'admin'
      ? [{ title: 'Merchant', isMinor: true, cell: (one) => one.project ?? '–' }]
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
              <TimeLink of={one} isAgo={isAgo} />
              <span class="phone">
                <What of={one} />
              </span>
            </>
          ),
        },
        { title: 'Status', cell: (one) => <Status of={one} /> },
        { title: 'Amount', isNumber: true, cell: (one) => <Money of={one} /> },
        ...project,
        { title: 'For', isMinor: true, cell: (one) => <What of={one} /> },
        {
          title: 'Payer',
          isMinor: true,
          cell: ({ payer }) => <code title={payer}>{shorten(payer)}</code>,
        },
      ]}
    />
  )
}

function Status({ of: { status, refunded, amount, settlement } }: { readonly of: Settlement }) {
  return (
    <>
      <StatusBadge status={status} />
      {settlement !== undefined && <small class="sub">refund</small>}
      {refunded !== undefined && (
        <small class="sub">{refunded === amount ? 'refunded' : 'partially refunded'}</small>
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

function TimeLink({ of, isAgo }: { readonly of: Settlement; readonly isAgo: boolean }) {
  return (
    <a href={linkTo(['settlements', of.id])}>
      <Time at={of.createdAt} as={isAgo ? 'ago' : 'short'} />
    </a>
  )
}
