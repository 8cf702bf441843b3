import type { GasOfProject, ListOf, NetworkFinding, Relayer } from '../api/documents.js'
import { useLoad, type Loaded } from '../api/use-load.js'
import { decimalOf, formatDecimal } from '../format/money.js'
import { formatNumber } from '../format/text.js'
import { Badge, StatusBadge } from '../parts/badge.js'
import { Button } from '../parts/button.js'
import { Empty } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page, Section } from '../parts/page.js'
import { List } from '../parts/table.js'
import { Hex, MerchantLink, NetworkName } from '../parts/values.js'
import { findNetwork, useSession } from '../state/session.js'

const COIN_DECIMALS = 18

export function Relayers() {
  const relayers = useLoad<ListOf<'relayers', Relayer>>('admin/relayers')
  const networks = useLoad<ListOf<'networks', NetworkFinding>>('admin/networks')
  const gas = useLoad<ListOf<'gas', GasOfProject>>('admin/gas')
  const reload = (): void => {
    relayers.reload()
    gas.reload()
    networks.reload()
  }
  return (
    <Page title="Relayers and networks" actions={<Button onClick={reload}>Refresh</Button>}>
      <Networks of={networks} />
      <Accounts of={relayers} />
      <Gas of={gas} />
      <Pending of={relayers} />
    </Page>
  )
}

const notHere = () => (
  <Empty title="This gateway sends no transactions">
    Another facilitator settles its payments.
  </Empty>
)

const Networks = ({ of }: Of<Loaded<ListOf<'networks', NetworkFinding>>>) => (
  <Section title="Networks">
    <List
      of={of}
      rows={({ networks }) => networks}
      empty={notHere}
      caption="Networks"
      keyOf={({ chainId, code, message }) => `${chainId} ${code} ${message}`}
      columns={[
        [
          'Network',
          ({ name, chainId }) => (
            <>
              {name}
              <small class="sub">chain {chainId}</small>
            </>
          ),
        ],
        ['State', ({ status }) => <StatusBadge status={status} />],
        ['Details', ({ message }) => message],
      ]}
    />
  </Section>
)

const Accounts = ({ of }: Of<Loaded<ListOf<'relayers', Relayer>>>) => (
  <Section title="Relayers" note="They send the transactions, and pay for gas.">
    <List
      of={of}
      rows={({ relayers }) => relayers}
      empty={notHere}
      caption="Relayers"
      keyOf={({ network, address }) => `${network} ${address}`}
      columns={[
        ['Account', (one) => <Account of={one} />],
        ['State', (one) => <State of={one} />, 'minor'],
        ['Balance', (one) => <Coins of={one} wei={one.balance} />, 'number minor'],
        [
          'Enough for',
          (one) => (
            <>
              <Runway of={one} />
              <small class="sub phone">
                <Coins of={one} wei={one.balance} /> left
              </small>
            </>
          ),
          'number',
        ],
        ['Spent in 30 days', (one) => <Coins of={one} wei={one.spent} />, 'number minor'],
        ['Pending', ({ pending = [] }) => formatNumber(pending.length), 'number minor'],
      ]}
    />
  </Section>
)

const Account = ({ of }: Of<Relayer>) => (
  <>
    <Hex value={of.address} network={of.network} kind="address" />
    <small class="sub">
      <NetworkName of={of} />
    </small>
    <span class="phone">
      <State of={of} />
    </span>
  </>
)

const Gas = ({ of }: Of<Loaded<ListOf<'gas', GasOfProject>>>) => (
  <Section title="Gas by merchant" note="What payments and refunds have cost in 30 days.">
    <List
      of={of}
      rows={({ gas }) =>
        gas.toSorted((one, other) => (BigInt(one.wei) < BigInt(other.wei) ? 1 : -1))
      }
      empty={() => <Empty title="No gas was spent" />}
      caption="Gas by merchant"
      keyOf={({ project, network }) => `${network} ${project}`}
      columns={[
        ['Merchant', (one) => <MerchantLink of={one} />],
        ['Network', (one) => <NetworkName of={one} />],
        ['Gas', (one) => <Coins of={one} wei={one.wei} />, 'number'],
      ]}
    />
  </Section>
)

const Pending = ({ of }: Of<Loaded<ListOf<'relayers', Relayer>>>) => (
  <Section title="Pending transactions">
    <List
      of={of}
      rows={({ relayers }) =>
        relayers.flatMap(({ network, pending = [] }) =>
          pending.map((transaction) => ({ network, ...transaction })),
        )
      }
      empty={() => <Empty title="None pending" />}
      caption="Pending transactions"
      keyOf={({ transaction }) => transaction}
      columns={[
        ['Transaction', (one) => <Hex value={one.transaction} network={one.network} kind="tx" />],
        ['Account nonce', ({ accountNonce }) => accountNonce, 'number'],
        ['Age (s)', ({ ageSeconds }) => formatNumber(ageSeconds), 'number'],
        ['Replacements', ({ replacements }) => replacements, 'number'],
      ]}
    />
  </Section>
)

interface CoinsProps extends Of<Pick<Relayer, 'network'>> {
  readonly wei: string | undefined
}

/** An amount of the network's gas token, to a millionth. */
function Coins({ of: { network }, wei }: CoinsProps) {
  const { gasToken = '' } = findNetwork(useSession(), network) ?? {}
  if (wei === undefined) return <>–</>
  const [whole = '0', fraction = ''] = decimalOf(wei, COIN_DECIMALS).split('.')
  const decimal = `${whole}.${fraction.slice(0, 6).padEnd(1, '0')}`
  return (
    <>
      {formatDecimal(decimal)} {gasToken}
    </>
  )
}

function State({ of: { error, isLow } }: Of<Relayer>) {
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

function Runway({ of: { runway } }: Of<Relayer>) {
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
