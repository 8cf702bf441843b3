/** Single values: times, amounts, addresses, URLs. */
import type { Settlement, TokenAmount } from '../api/documents.js'
import { fiatOf, formatFiat, formatToken } from '../format/money.js'
import { formatAgo, formatShortTime, formatTime, safeUrl, shorten } from '../format/text.js'
import { linkTo } from '../state/route.js'
import { explorerLink, findAsset, findNetwork, useSession } from '../state/session.js'
import { TestBadge } from './badge.js'
import { CopyButton } from './copy.js'
import type { Of } from './of.js'
import type { Column } from './table.js'

interface TimeProps {
  readonly at: string
  /** How long ago it was, or without the year. */
  readonly as?: 'ago' | 'short'
}

/** A time. Its title has the rest. */
export function Time({ at, as }: TimeProps) {
  if (as === undefined)
    return (
      <time dateTime={at} title={formatAgo(at)}>
        {formatTime(at)}
      </time>
    )
  return (
    <time class="time" dateTime={at} title={formatTime(at)}>
      {as === 'ago' ? formatAgo(at) : formatShortTime(at)}
    </time>
  )
}

interface MoneyProps extends Of<TokenAmount & Pick<Settlement, 'quote' | 'maximum'>> {
  readonly class?: string
}

/** An amount in its token and, below, in the merchant's currency, and the maximum that it is charged of. */
export function Money({ of, class: className = '' }: MoneyProps) {
  const fiat = fiatOf(of, findAsset(useSession(), of)?.currency)
  return (
    <span class={`money ${className}`}>
      <span class="money-token">
        {formatToken(of)}
        {of.testnet && <TestBadge />}
      </span>
      {fiat && <span class="money-more">{formatFiat(fiat.decimal, fiat.currency)}</span>}
      {of.maximum !== undefined && (
        <span class="money-more">of at most {formatToken({ ...of, amount: of.maximum })}</span>
      )}
    </span>
  )
}

export function NetworkName({ of: { network } }: Of<Pick<TokenAmount, 'network'>>) {
  return <>{findNetwork(useSession(), network)?.name ?? network}</>
}

/** A merchant, linked for operators: a merchant has no page about others. */
export function MerchantLink({ of: { project: id, merchantName } }: Of<MerchantMembers>) {
  const { role } = useSession()
  if (id === undefined) return <>–</>
  if (role !== 'admin') return <>{id}</>
  return (
    <>
      <a class="above" href={linkTo(['merchants', id])}>
        {merchantName ?? id}
      </a>
      {merchantName !== undefined && <small class="sub">{id}</small>}
    </>
  )
}

type MerchantMembers = Pick<Settlement, 'project' | 'merchantName'>

/** The column of merchants: for operators. */
export const merchantColumns = <Row extends MerchantMembers>(
  role: 'admin' | 'merchant',
): ReadonlyArray<Column<Row>> =>
  role === 'admin' ? [['Merchant', (row) => <MerchantLink of={row} />, 'minor']] : []

interface HexProps {
  readonly value: string
  readonly network: string
  readonly kind: 'tx' | 'address'
  readonly isWhole?: boolean
}

/** An address or transaction, linked to its network's explorer, with a button that copies it. */
export function Hex({ value, network, kind, isWhole = false }: HexProps) {
  const href = safeUrl(explorerLink(useSession(), network, `${kind}/${value}`))
  const text = isWhole ? value : shorten(value)
  const shown = <code title={value}>{text}</code>
  const label = kind === 'tx' ? 'transaction' : 'address'
  return (
    <span class="hex">
      {href === undefined ? (
        shown
      ) : (
        <a href={href} target="_blank" rel="noopener noreferrer">
          {shown}
          <span aria-hidden="true"> ↗</span>
        </a>
      )}{' '}
      <CopyButton text={value} label={`${label} ${shorten(value)}`} />
    </span>
  )
}

/** A stranger's URL, linked only if it is http(s). */
export function StrangerUrl({ url }: { readonly url: string }) {
  const href = safeUrl(url)
  if (href === undefined) return <span class="break">{url}</span>
  return (
    <a class="break" href={href} target="_blank" rel="noopener noreferrer">
      {url}
    </a>
  )
}
