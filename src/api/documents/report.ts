/** Revenue, funnel and overview. */
import { z } from 'zod'
import { COUNTED, type Counted } from '../../ledger/counters.js'
import { REVENUE_KEYS } from '../../ledger/revenue.js'
import { document } from './component.js'
import {
  address,
  atomicUnits,
  count,
  integer,
  list,
  network,
  projectMembers,
  testnet,
  text,
  time,
} from './fields.js'
import { settlement } from './settlement.js'

const span = {
  from: time('Begin of the time that is shown.'),
  to: time('End of the time that is shown; not part of it.'),
  timeZone: text('Zone of the days.', 'UTC'),
}

const sum = document('RevenueSum', 'What was paid in one token, within one group.', {
  day: text('The day in `timeZone`.', '2026-01-31').optional(),
  ...projectMembers,
  asset: address('Contract of the token.'),
  resource: text('URL of what was sold.').optional(),
  other: z.literal(true).optional().meta({
    description: 'Sums what has no group of its own, because there are too many.',
  }),
  network,
  testnet,
  symbol: text('Symbol of the token.').optional(),
  decimals: integer('Digits after the point of one token.').optional(),
  amount: atomicUnits('Atomic units that were paid, before refunds.'),
  count: count('Number of payments.'),
  refunded: atomicUnits('Atomic units that were refunded in this time, whenever they were paid.'),
  refunds: count('Number of refunds.'),
  net: z
    .string()
    .regex(/^-?(0|[1-9][0-9]*)$/)
    .meta({
      description: '`amount` less `refunded`; below zero where more was refunded than paid.',
      examples: ['150000'],
    }),
})

export const revenueReport = document('Revenue', 'What was paid and refunded.', {
  ...span,
  by: z.enum(REVENUE_KEYS).meta({ description: 'By what it is grouped.' }),
  revenue: list('Sums, each of one token in one group.', sum),
})

const COUNTED_TEXTS: Readonly<Record<Counted, string>> = {
  asked: 'How often payment was asked for.',
  presented: 'How many payments were presented.',
  repeated:
    'How many of those were settled before, and presented again: the success rate leaves them out.',
  refused: 'How many were refused, or given back because the app failed (`handler_failed`).',
  waived: 'How many were given back: the app made the answer free.',
  settled: 'How many were paid.',
  failed: 'How many failed on chain.',
}

const numbers = Object.fromEntries(
  COUNTED.map((kind) => [kind, count(COUNTED_TEXTS[kind])]),
) as Record<Counted, ReturnType<typeof count>>

const activityMembers = {
  ...numbers,
  reasons: z.record(z.string(), z.int()).meta({
    description: 'How many were refused or failed, by reason.',
    examples: [{ insufficient_funds: 2 }],
  }),
  waivedFor: z.record(z.string(), z.int()).meta({
    description: 'How many were given back, by the reason that the app gives.',
    examples: [{ tool_error: 2 }],
  }),
}

const activity = document('Activity', 'What happened to payments, in numbers.', activityMembers)

const activityOfDay = document('ActivityOfDay', 'What happened to payments on a day, in numbers.', {
  day: text('The day in `timeZone`.', '2026-01-31'),
  ...activityMembers,
})

export const funnelReport = document(
  'Funnel',
  'How many offers became payments, and why others did not.',
  {
    ...span,
    total: activity,
    days: list('Days on which something happened.', activityOfDay),
  },
)

export const overviewReport = document('Overview', 'What happened, at a glance.', {
  ...span,
  revenue: list('What was paid and refunded, by token.', sum),
  funnel: activity,
  settlements: list('The ten newest settlements.', settlement),
})
