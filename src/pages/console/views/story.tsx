import type { ComponentChildren } from 'preact'
import type { Settlement } from '../api/documents.js'
import { formatFiat } from '../format/money.js'
import { reasonInWords } from '../format/reasons.js'
import { formatDuration } from '../format/text.js'
import { Time } from '../parts/values.js'

export function Story({ of }: { readonly of: Settlement }) {
  const { quote, maximum, createdAt, status } = of
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
      {status === 'settled' && <Settled of={of} />}
      {status === 'failed' && <Failed of={of} />}
    </ol>
  )
}

function Settled({ of: { createdAt, updatedAt, refunded, amount } }: { readonly of: Settlement }) {
  const took = Math.max(0, Date.parse(updatedAt) - Date.parse(createdAt))
  return (
    <>
      <Step
        title={amount === '0' ? 'Nothing was charged' : 'Payment settled'}
        at={updatedAt}
        tone="good"
      >
        {took < 3_600_000 && `${formatDuration(took)} after verification.`}
      </Step>
      {refunded !== undefined && (
        <Step title={refunded === amount ? 'Refunded' : 'Partially refunded'}>
          See the refunds below.
        </Step>
      )}
    </>
  )
}

function Failed({ of: { updatedAt, errorReason } }: { readonly of: Settlement }) {
  return (
    <Step title="Payment failed" at={updatedAt} tone="bad">
      {errorReason !== undefined && (
        <>
          {reasonInWords(errorReason)} <code>{errorReason}</code>
        </>
      )}
    </Step>
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
