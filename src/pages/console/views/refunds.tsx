import type { ListOf, Refund, Settlement } from '../api/documents.js'
import { findKept, forget } from '../api/kept-refund.js'
import { useLoad, useReloadWhile } from '../api/use-load.js'
import { decimalOf, formatToken } from '../format/money.js'
import { reasonInWords } from '../format/reasons.js'
import { shorten } from '../format/text.js'
import { StatusBadge } from '../parts/badge.js'
import { May } from '../parts/button.js'
import { DateRangeFields, spanOf } from '../parts/date-range.js'
import { optionsOf, SelectField } from '../parts/field.js'
import { NetworkField } from '../parts/network-field.js'
import { Empty, LoadedView, Notice } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page, Section } from '../parts/page.js'
import { ProjectField } from '../parts/project-field.js'
import { List, Table } from '../parts/table.js'
import { Hex, merchantColumns, Money, NetworkName, Time } from '../parts/values.js'
import { cursorOf, filtersOf, linkTo, queryOf, type Route } from '../state/route.js'
import { findAsset, findNetwork, useSession } from '../state/session.js'
import { RefundForm } from './refund-form.js'

const STATUSES = optionsOf('Any status', ['settled', 'pending', 'failed'])

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

interface RefundsProps extends Of<Settlement> {
  /** Called when the settlement may have changed. */
  readonly onChange: () => void
}

/** Refunds of a payment, and the form for another. */
export function Refunds({ of, onChange }: RefundsProps) {
  const { role } = useSession()
  const path = `${role}/settlements/${encodeURIComponent(of.id)}/refunds`
  const loaded = useLoad<ListOf<'refunds', Settlement>>(path)
  const { data, reload } = loaded
  const isOpen = data?.refunds.some(({ status }) => status === 'pending') ?? false
  useReloadWhile(loaded, isOpen)
  const refresh = (): void => {
    reload()
    onChange()
  }
  if (of.errorReason === 'permit2_invalid_nonce') return <ByHand of={of} />
  if (of.status !== 'settled' || of.amount === '0') return null
  return (
    <Section title="Refunds">
      <LoadedView of={loaded} room="line">
        {({ refunds }) => (
          <>
            {refunds.length > 0 && <RefundTable of={refunds} />}
            <May scope="refund">
              <Remaining of={of} refunds={refunds} path={path} onRefund={refresh} />
            </May>
          </>
        )}
      </LoadedView>
    </Section>
  )
}

type RefundStatusProps = Of<Pick<Settlement, 'status' | 'errorReason' | 'heldUntil'>>

function RefundStatus({ of: { status, errorReason, heldUntil } }: RefundStatusProps) {
  return (
    <>
      <StatusBadge status={status} />
      {errorReason && <small class="sub">{reasonInWords(errorReason)}</small>}
      {heldUntil && (
        <small class="sub">
          Amount available again at <Time at={heldUntil} />
        </small>
      )}
    </>
  )
}

function RefundTable({ of }: Of<readonly Settlement[]>) {
  return (
    <Table
      caption="Refunds of this settlement"
      rows={of}
      columns={[
        ['Time', ({ createdAt }) => <Time at={createdAt} as="short" />],
        ['Status', (one) => <RefundStatus of={one} />],
        ['Amount', (one) => <Money of={one} />, 'number'],
        ['Reason', (one) => <Why of={one} />, 'minor'],
        [
          'Transaction',
          ({ transaction: hash, network }) =>
            hash ? <Hex value={hash} network={network} kind="tx" /> : '–',
          'minor',
        ],
      ]}
    />
  )
}

/** Why a refund was made, and who asked for it. */
function Why({ of: { reason, requestedBy } }: Of<Pick<Settlement, 'reason' | 'requestedBy'>>) {
  return (
    <span class="what">
      {reason !== undefined && <span>{reason}</span>}
      {requestedBy !== undefined && <small class="sub">by {requestedBy}</small>}
    </span>
  )
}

interface RemainingProps extends Of<Settlement> {
  readonly refunds: readonly Settlement[]
  readonly path: string
  readonly onRefund: () => void
}

function Remaining({ of, refunds, path, onRefund }: RemainingProps) {
  const session = useSession()
  const network = findNetwork(session, of.network)
  const nonce = findKept(of.id)?.authorization.nonce
  if (refunds.some((one) => one.nonce === nonce)) forget(of.id)
  // Failed refunds may reserve their amount for a while: then the gateway refuses.
  const taken = refunds
    .filter(({ status }) => status !== 'failed')
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n)
  const left = BigInt(of.amount) - taken
  if (left <= 0n) return <Notice>This payment was fully refunded.</Notice>
  if (of.decimals === undefined)
    return <Notice>Unknown token decimals: use the API to refund this payment.</Notice>
  if (network === undefined)
    return <Notice>This gateway no longer settles on {of.network}: refunds are impossible.</Notice>
  if (findAsset(session, of)?.refundable === false)
    return <ByHand of={{ ...of, amount: left.toString() }} />
  return (
    <RefundForm
      key={left.toString()}
      payment={of}
      network={network}
      left={decimalOf(left.toString(), of.decimals)}
      path={path}
      onRefund={onRefund}
    />
  )
}

/** Says how to pay back what the gateway cannot. */
function ByHand({ of }: Of<Settlement>) {
  return (
    <Notice>
      {of.status === 'failed'
        ? 'Another transaction has used the permit, and may have paid you: it is shown above. The buyer got nothing for it.'
        : `${of.symbol ?? 'This token'} cannot be refunded here: it is taken by Permit2 alone, and a refund is a signed transfer (ERC-3009).`}{' '}
      To pay it back, send up to {formatToken(of)} from the merchant’s wallet to the payer,{' '}
      <Hex value={of.payer} network={of.network} kind="address" />. The gateway does not count that
      as a refund.
    </Notice>
  )
}
