/** Revenue, funnel, latency and overview. */
import { z } from 'zod'
import { COUNTED, PHASES, type Counted, type Phase } from '../../../ledger/counters.js'
import { REVENUE_KEYS } from '../../../ledger/revenue.js'
import { component } from '../components.js'
import { address, atomicUnits, count, network, time } from './fields.js'
import { settlement } from './settlement.js'

const span = {
  from: time('Begin of the time that is shown.'),
  to: time('End of the time that is shown; not part of it.'),
}

const sum = component(
  'RevenueSum',
  z
    .object({
      day: z
        .string()
        .optional()
        .meta({ description: 'The day (UTC).', examples: ['2026-01-31'] }),
      project: z.string().optional().meta({ description: 'Id of the project.' }),
      asset: address('Contract of the token.'),
      resource: z.string().optional().meta({ description: 'URL of what was sold.' }),
      other: z.literal(true).optional().meta({
        description: 'Sums what has no group of its own, because there are too many.',
      }),
      network,
      symbol: z.string().optional().meta({ description: 'Symbol of the token.' }),
      decimals: z.int().optional().meta({ description: 'Digits after the point of one token.' }),
      amount: atomicUnits('Atomic units that were paid; refunds are not subtracted.'),
      count: count('Number of payments.'),
    })
    .meta({ description: 'What was paid in one token, within one group.' }),
)

/** `…/revenue`. */
export const revenueReport = component(
  'Revenue',
  z
    .object({
      ...span,
      by: z.enum(REVENUE_KEYS).meta({ description: 'By what it is grouped.' }),
      revenue: z.array(sum).meta({ description: 'Sums, each of one token in one group.' }),
    })
    .meta({ description: 'What was paid.' }),
)

const COUNTED_TEXTS: Readonly<Record<Counted, string>> = {
  asked: 'How often payment was asked for.',
  presented: 'How many payments were presented.',
  refused: 'How many were refused.',
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

const activity = component(
  'Activity',
  z.object(activityMembers).meta({ description: 'What happened to payments, in numbers.' }),
)

const activityOfDay = component(
  'ActivityOfDay',
  z
    .object({
      day: z.string().meta({ description: 'The day (UTC).', examples: ['2026-01-31'] }),
      ...activityMembers,
    })
    .meta({ description: 'What happened to payments on a day, in numbers.' }),
)

/** `…/funnel`. */
export const funnelReport = component(
  'Funnel',
  z
    .object({
      ...span,
      total: activity,
      days: z.array(activityOfDay).meta({ description: 'Days on which something happened.' }),
    })
    .meta({ description: 'How many offers became payments, and why others did not.' }),
)

const phase = (description: string) =>
  z
    .object({
      count: count('Number of measurements.'),
      p50: z
        .number()
        .optional()
        .meta({ description: 'Median in milliseconds.', examples: [12] }),
      p95: z.number().optional().meta({ description: '95th percentile in milliseconds.' }),
    })
    .meta({ description })

const PHASE_TEXTS: Readonly<Record<Phase, string>> = {
  verify: 'Verifying a payment.',
  handler: 'What was paid for.',
  settle: 'Settling it on chain.',
  total: 'All of it.',
}

const phases = z
  .object(Object.fromEntries(PHASES.map((name) => [name, phase(PHASE_TEXTS[name])])))
  .meta({ description: 'Time of each phase. Percentiles are estimates, at most 19 % off.' })

/** `…/latency`. */
export const latencyReport = component(
  'Latency',
  z.object({ ...span, phases }).meta({ description: 'How long payments took.' }),
)

/** `…/overview`. */
export const overviewReport = component(
  'Overview',
  z
    .object({
      ...span,
      revenue: z.array(sum).meta({ description: 'What was paid, by token.' }),
      funnel: activity,
      phases,
      settlements: z.array(settlement).meta({ description: 'The ten newest settlements.' }),
    })
    .meta({ description: 'What happened, at a glance.' }),
)
