import type { ComponentChildren } from 'preact'
import type { Settlement } from '../api/documents.js'
import type { Of } from './of.js'

/** Signs of states: colour alone never tells. */
const TONES = {
  good: '●',
  wait: '◐',
  bad: '✕',
  plain: '○',
} as const

export type Tone = keyof typeof TONES

const STATUS_TONES: Readonly<Record<string, Tone>> = {
  settled: 'good',
  paid: 'good',
  open: 'wait',
  delivered: 'good',
  ok: 'good',
  pending: 'wait',
  warning: 'wait',
  reserved: 'plain',
  failed: 'bad',
  error: 'bad',
}

interface BadgeProps {
  readonly tone: Tone
  readonly children: ComponentChildren
}

export function Badge({ tone, children }: BadgeProps) {
  return (
    <span class={`badge badge-${tone}`}>
      <span aria-hidden="true">{TONES[tone]} </span>
      {children}
    </span>
  )
}

/** Marks money without value. */
export function TestBadge() {
  return (
    <>
      {' '}
      <span class="badge-test" title="Test network: not real money">
        Test
      </span>
    </>
  )
}

/** The status of a settlement, with what became of its money since. */
export function PaymentBadge({ of: { status, refunded, amount, delivered } }: Of<Settlement>) {
  if (delivered === false) return <Badge tone="wait">paid, not delivered</Badge>
  if (refunded === undefined) return <StatusBadge status={status} />
  return <Badge tone="plain">{refunded === amount ? 'refunded' : 'partially refunded'}</Badge>
}

/** The status of a settlement, a delivery or a finding. */
export function StatusBadge({ status }: { readonly status: string }) {
  return <Badge tone={STATUS_TONES[status] ?? 'plain'}>{status}</Badge>
}
