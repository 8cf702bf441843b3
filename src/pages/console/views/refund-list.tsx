import type { ListOf, Refund } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { shorten } from '../format/text.js'
import { DateRangeFields, spanOf } from '../parts/date-range.js'
import { SelectField } from '../parts/field.js'
import { NetworkField } from '../parts/network-field.js'
import { Empty } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page } from '../parts/page.js'
import { ProjectField } from '../parts/project-field.js'
import { List } from '../parts/table.js'
import { merchantColumns, Money, NetworkName, Time } from '../parts/values.js'
import { cursorOf, filtersOf, linkTo, queryOf, type Route } from '../state/route.js'
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
  const { values, go, field } = filtersOf(route, ['status', 'network', 'project', 'from', 'to'])
  const query = { ...values, ...spanOf(values), cursor: cursorOf(route) }
  return (
    <Page title="Refunds">
      <div class="toolbar">
        <SelectField label="Status" options={STATUSES} {...field('status')} />
        <NetworkField {...field('network')} />
        <ProjectField {...field('project')} />
        <DateRangeFields value={values} onValue={go} mayBeOpen />
      </div>
      <List
        of={useLoad<ListOf<'refunds', Refund>>(`${role}/refunds${queryOf(query)}`)}
        rows={({ refunds }) => refunds}
        room="tall"
        route={route}
        empty={() => <Empty title="No refunds">Open a settlement to refund it.</Empty>}
        caption="Refunds"
        columns={[
          ['Time', (one) => <When of={one} />],
          ['Status', (one) => <RefundStatus of={one} />],
          ['Amount', (one) => <Money of={one} />, 'number'],
          ['Reason', (one) => <Why of={one} />, 'minor'],
          ['For', (one) => one.reference ?? one.route ?? '–', 'minor'],
          ['Network', (one) => <NetworkName of={one} />, 'minor'],
          ...merchantColumns<Refund>(role),
          ['Buyer', ({ payTo }) => <code title={payTo}>{shorten(payTo)}</code>, 'minor'],
        ]}
      />
    </Page>
  )
}

function When({ of }: Of<Refund>) {
  return (
    <>
      <a href={linkTo(['settlements', of.settlement])}>
        <Time at={of.createdAt} as="short" />
      </a>
      <span class="phone">
        <Why of={of} />
      </span>
    </>
  )
}
