import type { GasOfProject, NetworkFinding, Relayer } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { decimalOf, formatDecimal } from '../format/money.js'
import { formatNumber } from '../format/text.js'
import { Badge, StatusBadge } from '../parts/badge.js'
import { Empty, LoadedView } from '../parts/notice.js'
import { Page, Section } from '../parts/page.js'
import { Table } from '../parts/table.js'
import { Hex, MerchantLink, NetworkName } from '../parts/values.js'

const COIN_DECIMALS = 18

export function Relayers() {
  const relayers = useLoad<{ readonly relayers: readonly Relayer[] }>('admin/relayers')
  const networks = useLoad<{ readonly networks: readonly NetworkFinding[] }>('admin/networks')
  const gas = useLoad<{ readonly gas: readonly GasOfProject[] }>('admin/gas')
  const reload = (): void => {
    relayers.reload()
    gas.reload()
    networks.reload()
  }
  return (
    <Page
      title="Relayers and networks"
      actions={
        <button type="button" class="button" onClick={reload}>
          Refresh
        </button>
      }
    >
      <Section title="Networks">
        <LoadedView of={networks}>
          {({ networks: found }) =>
            found.length === 0 ? <NotHere /> : <NetworkTable of={found} />
          }
        </LoadedView>
      </Section>
      <Section title="Relayers" note="They send the transactions, and pay for gas.">
        <LoadedView of={relayers}>
          {({ relayers: found }) =>
            found.length === 0 ? <NotHere /> : <RelayerTable of={found} />
          }
        </LoadedView>
      </Section>
      <Section title="Gas by merchant" note="What payments and refunds have cost in 30 days.">
        <LoadedView of={gas}>{({ gas: found }) => <GasTable of={found} />}</LoadedView>
      </Section>
      <Section title="Pending transactions">
        <LoadedView of={relayers}>{({ relayers: found }) => <Waiting of={found} />}</LoadedView>
      </Section>
    </Page>
  )
}

function NotHere() {
  return (
    <Empty title="This gateway sends no transactions">
      <p>Another facilitator settles its payments.</p>
    </Empty>
  )
}

function NetworkTable({ of }: { readonly of: readonly NetworkFinding[] }) {
  return (
    <Table
      caption="Networks"
      rows={of}
      keyOf={({ chainId, code, message }) => `${chainId} ${code} ${message}`}
      columns={[
        {
          title: 'Network',
          cell: ({ name, chainId }) => (
            <>
              {name}
              <small class="sub">chain {chainId}</small>
            </>
          ),
        },
        { title: 'State', cell: ({ status }) => <StatusBadge status={status} /> },
        { title: 'Details', cell: ({ message }) => message },
      ]}
    />
  )
}

function RelayerTable({ of }: { readonly of: readonly Relayer[] }) {
  return (
    <Table
      caption="Relayers"
      rows={of}
      keyOf={({ network, address }) => `${network} ${address}`}
      columns={[
        {
          title: 'Account',
          cell: (one) => (
            <>
              <Hex value={one.address} network={one.network} kind="address" />
              <small class="sub">
                <NetworkName of={one} />
              </small>
              <span class="phone">
                <State of={one} />
              </span>
            </>
          ),
        },
        { title: 'State', isMinor: true, cell: (one) => <State of={one} /> },
        { title: 'Balance', isMinor: true, isNumber: true, cell: ({ balance }) => coins(balance) },
        {
          title: 'Enough for',
          isNumber: true,
          cell: (one) => (
            <>
              <Runway of={one} />
              <small class="sub phone">{coins(one.balance)} left</small>
            </>
          ),
        },
        {
          title: 'Spent in 30 days',
          isNumber: true,
          isMinor: true,
          cell: ({ spent }) => coins(spent),
        },
        {
          title: 'Pending',
          isNumber: true,
          isMinor: true,
          cell: ({ pending = [] }) => formatNumber(pending.length),
        },
      ]}
    />
  )
}

function GasTable({ of }: { readonly of: readonly GasOfProject[] }) {
  if (of.length === 0) return <Empty title="No gas was spent" />
  return (
    <Table
      caption="Gas by merchant"
      rows={of.toSorted((one, other) => (BigInt(one.wei) < BigInt(other.wei) ? 1 : -1))}
      keyOf={({ project, network }) => `${network} ${project}`}
      columns={[
        {
          title: 'Merchant',
          cell: ({ project }) => <MerchantLink id={project} />,
        },
        {
          title: 'Network',
          cell: (one) => <NetworkName of={one} />,
        },
        { title: 'Gas', isNumber: true, cell: ({ wei }) => coins(wei) },
      ]}
    />
  )
}

/** Native currency, to a millionth. */
function coins(wei: string | undefined): string {
  if (wei === undefined) return '–'
  const [whole = '0', fraction = ''] = decimalOf(wei, COIN_DECIMALS).split('.')
  return formatDecimal(`${whole}.${fraction.slice(0, 6).padEnd(1, '0')}`)
}

function State({ of: { error, isLow } }: { readonly of: Relayer }) {
  if (error !== undefined)
    return (
      <>
        <Badge tone="bad">unknown</Badge>
        <small class="sub">{error}</small>
      </>
    )
  return isLow ? <Badge tone="wait">low</Badge> : <Badge tone="good">funded</Badge>
}

/** Beyond these, the numbers say nothing more. */
const MANY_PAYMENTS = 1_000_000
const MANY_DAYS = 3650

function Runway({ of: { runway } }: { readonly of: Relayer }) {
  if (runway === undefined) return <>–</>
  const { payments, days } = runway
  return (
    <>
      {payments > MANY_PAYMENTS ? 'over a million' : formatNumber(payments)} payments
      {days !== undefined && (
        <small class="sub">
          {days > MANY_DAYS ? 'over 10 years' : `${formatNumber(Math.round(days))} days`}
        </small>
      )}
    </>
  )
}

function Waiting({ of }: { readonly of: readonly Relayer[] }) {
  const rows = of.flatMap(({ network, pending = [] }) =>
    pending.map((transaction) => ({ network, ...transaction })),
  )
  if (rows.length === 0) return <Empty title="None pending" />
  return (
    <Table
      caption="Pending transactions"
      rows={rows}
      keyOf={({ transaction }) => transaction}
      columns={[
        {
          title: 'Transaction',
          cell: ({ transaction, network }) => (
            <Hex value={transaction} network={network} kind="tx" />
          ),
        },
        { title: 'Account nonce', isNumber: true, cell: ({ accountNonce }) => accountNonce },
        { title: 'Age (s)', isNumber: true, cell: ({ ageSeconds }) => formatNumber(ageSeconds) },
        { title: 'Replacements', isNumber: true, cell: ({ replacements }) => replacements },
      ]}
    />
  )
}
