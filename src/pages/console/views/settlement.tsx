import type { ComponentChildren } from 'preact'
import type { Settlement } from '../api/documents.js'
import { useLoad, useReloadWhile } from '../api/use-load.js'
import { formatFiat, formatToken } from '../format/money.js'
import { reasonInWords } from '../format/reasons.js'
import { formatDuration } from '../format/text.js'
import { PaymentBadge, TestBadge } from '../parts/badge.js'
import { CopyButton } from '../parts/copy.js'
import { LoadedView } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { Page, Section } from '../parts/page.js'
import { Facts } from '../parts/table.js'
import { Hex, MerchantLink, Money, NetworkName, StrangerUrl, Time } from '../parts/values.js'
import { linkTo } from '../state/route.js'
import { useSession } from '../state/session.js'
import { Refunds } from './refunds.js'

export function SettlementView({ id }: { readonly id: string }) {
  const { role } = useSession()
  const loaded = useLoad<Settlement>(`${role}/settlements/${encodeURIComponent(id)}`)
  const { data, reload } = loaded
  const isOpen = data?.status === 'pending' || data?.status === 'reserved'
  useReloadWhile(loaded, isOpen)
  return (
    <Page title="Settlement" back={{ href: linkTo(['settlements']), label: 'Settlements' }}>
      <LoadedView of={loaded} room="tall">
        {(settlement) => (
          <>
            <div class="lead">
              <Money of={settlement} class="money-large" />
              <PaymentBadge of={settlement} />
            </div>
            <div class="columns columns-wide">
              <Section title="Timeline">
                <Story of={settlement} />
              </Section>
              <Section title="Purchase">
                <Purchase of={settlement} />
              </Section>
            </div>
            <Section title="On chain">
              <OnChain of={settlement} />
            </Section>
            <Refunds of={settlement} onChange={reload} />
          </>
        )}
      </LoadedView>
    </Page>
  )
}

function Purchase({ of }: Of<Settlement>) {
  const { method, route, resource, reference, askedPrice, project, maximum, refunded, amount } = of
  return (
    <Facts
      of={[
        ['Merchant', project && <MerchantLink of={of} />],
        ['Reference', reference],
        ['Resource', resource && <StrangerUrl url={resource} />],
        ['Route', route && `${method ?? ''} ${route}`],
        ['List price', askedPrice && (maximum ? `up to ${askedPrice}` : askedPrice)],
        [
          'Delivered',
          of.delivered === false && 'No: refund it, or list its price in earlierPrices',
        ],
        ['Refunded', refunded && formatToken({ ...of, amount: refunded })],
        [
          'Net',
          refunded && formatToken({ ...of, amount: String(BigInt(amount) - BigInt(refunded)) }),
        ],
        [
          'Id',
          <>
            <code class="break">{of.id}</code> <CopyButton text={of.id} label="id" />
          </>,
        ],
      ]}
    />
  )
}

function OnChain({ of }: Of<Settlement>) {
  const { network, payer, payTo, transaction, asset, symbol, nonce, amount, maximum } = of
  return (
    <Facts
      of={[
        [
          'Network',
          <>
            <NetworkName of={of} />
            {of.testnet && <TestBadge />}
          </>,
        ],
        // Until something is sent, nobody has said what is charged of a maximum.
        ['Scheme', of.status !== 'reserved' && (maximum === undefined ? 'exact' : 'upto')],
        ['Payer', <Hex value={payer} network={network} kind="address" isWhole />],
        ['Paid to', <Hex value={payTo} network={network} kind="address" isWhole />],
        [
          'Transaction',
          transaction ? (
            <Hex value={transaction} network={network} kind="tx" isWhole />
          ) : (
            amount === '0' && 'None: nothing was charged.'
          ),
        ],
        [
          'Token',
          <>
            {symbol} <Hex value={asset} network={network} kind="address" />
          </>,
        ],
        ['Atomic units', <code>{amount}</code>],
        ['Authorization nonce', <code class="break">{nonce}</code>],
      ]}
    />
  )
}

function Story({ of }: Of<Settlement>) {
  const { quote, maximum, createdAt, updatedAt, status, refunded, amount, errorReason } = of
  const took = Math.max(0, Date.parse(updatedAt) - Date.parse(createdAt))
  const outcome = amount === '0' ? 'Nothing was charged' : 'Payment settled'
  return (
    <ol class="story">
      {quote && (
        <Step title="Price quoted" at={quote.asOf}>
          {maximum === undefined && `${formatFiat(quote.price, quote.currency)} at `}a rate of{' '}
          {quote.rate}, from {quote.source}
        </Step>
      )}
      <Step title="Payment verified" at={createdAt} />
      {status === 'reserved' && <Step title="Not sent yet" isOpen />}
      {status === 'pending' && (
        <Step title="Transaction sent" isOpen>
          It is not mined yet. This page refreshes by itself.
        </Step>
      )}
      {status === 'settled' && (
        <Step title={outcome} at={updatedAt} tone="good">
          {took < 3_600_000 && `${formatDuration(took)} after verification.`}
        </Step>
      )}
      {status === 'settled' && refunded !== undefined && (
        <Step title={refunded === amount ? 'Refunded' : 'Partially refunded'}>
          See the refunds below.
        </Step>
      )}
      {status === 'failed' && (
        <Step title="Payment failed" at={updatedAt} tone="bad">
          {errorReason !== undefined && (
            <>
              {reasonInWords(errorReason)} <code>{errorReason}</code>
            </>
          )}
        </Step>
      )}
    </ol>
  )
}

interface StepProps {
  readonly title: string
  readonly at?: string
  readonly tone?: 'good' | 'bad'
  readonly isOpen?: boolean
  readonly children?: ComponentChildren
}

function Step({ title, at, tone, isOpen, children }: StepProps) {
  return (
    <li class={`step ${tone ? `step-${tone}` : ''} ${isOpen ? 'step-open' : ''}`}>
      <p class="step-title">
        {title}
        {at !== undefined && <Time at={at} />}
      </p>
      {children && <p class="step-text">{children}</p>}
    </li>
  )
}
