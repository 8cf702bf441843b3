/** How lists of settlements are asked for. */
import { z } from 'zod'
import type { LedgerQuery, RecordSearch } from '../../ledger/index.js'
import { isReference, NOT_A_REFERENCE } from '../../ledger/payment-details.js'
import { compare, parseDecimal } from '../../shared/money/decimal.js'
import { lowerHex } from '../../shared/protocol/hex.js'
import { findNetwork, UNKNOWN_NETWORK } from '../../shared/protocol/networks.js'
import { suggestNetwork } from '../../shared/protocol/suggest-network.js'
import { limitParameter, placeParameter, readBy } from '../serve/pages.js'
import { readSearch } from './settlement-search.js'
import { momentOf, timeSchema, timeZoneParameter } from './time-query.js'

/**
 * `reserved`: taken for one request, nothing was sent. `pending`: a transaction was sent. `settled`:
 * the merchant was paid. `failed`: the transaction was mined, and did not pay the merchant.
 */
const STATUSES = ['reserved', 'pending', 'settled', 'failed'] as const

const SEARCHES = ['search', 'payer', 'transaction', 'resource', 'reference'] as const

type Search = (typeof SEARCHES)[number]

const AMOUNTS = ['token', 'minAmount', 'maxAmount'] as const

type AmountFilter = (typeof AMOUNTS)[number]

/** Longest text to search for: a URL. */
const MAX_SEARCH = 2048

const NOT_AN_AMOUNT = 'must be an amount of tokens, like 0.25'

const textSchema = z.string('must be given once').min(1, 'must not be empty')

export const networkParameter = z
  .string('must be given once')
  .transform((name, context) => {
    const network = findNetwork(name)
    if (network !== undefined) return network
    const suggested = suggestNetwork(name)
    context.addIssue(
      suggested === undefined ? UNKNOWN_NETWORK : `is not a network; did you mean '${suggested}'?`,
    )
    return z.NEVER
  })
  .optional()
  .meta({
    description: 'Only those on this network: CAIP-2 or its short name.',
    as: { type: 'string' },
    examples: ['eip155:8453', 'base'],
  })

/** Filters by time and network. */
const placeMembers = {
  from: timeSchema.optional().meta({
    description: 'Begin: a date (midnight in `timeZone`) or a time with its offset.',
    examples: ['2026-01-01'],
  }),
  to: timeSchema.optional().meta({
    description: 'End, which is not part of it.',
    examples: ['2026-02-01T00:00:00Z'],
  }),
  timeZone: timeZoneParameter,
  network: networkParameter,
}

const changeMembers = {
  updatedSince: timeSchema.optional().meta({
    description:
      'Only those that changed at or after this time, the oldest change first. A page may be short or empty while there is a `nextCursor`. Begin the next time a minute before the last answer. Not together with `from`, `to` or a search.',
    examples: ['2026-01-31T12:00:00Z'],
  }),
}

const amountSchema = z
  .string(NOT_AN_AMOUNT)
  .transform(readBy(parseDecimal, NOT_AN_AMOUNT))
  .optional()

/** A beginning of addresses that so many have that a merchant's few could not be found quickly. */
const SHORT_ADDRESS = /^0x[0-9a-f]?(?:$|…|\.)/i
const TOO_SHORT = 'must have at least two digits of an address, like 0x12'

const filterMembers = {
  search: textSchema
    .max(MAX_SEARCH, `must have at most ${MAX_SEARCH} characters`)
    .transform((text) => text.trim())
    .pipe(
      z
        .string()
        .min(1, 'must not be empty')
        .regex(/^\P{Cc}*$/u, 'must not have control characters')
        .refine((text) => !SHORT_ADDRESS.test(text), TOO_SHORT),
    )
    .optional()
    .meta({
      description:
        'The beginning of a reference, in its own case, or of the payer’s address (`0x12`, `0x12…ab`); or a whole address, transaction or URL. What begins so is sorted by reference or address, everything else by time.',
      as: { type: 'string', minLength: 1, maxLength: MAX_SEARCH },
      examples: ['order-10', '0x12…ab'],
    }),
  token: textSchema
    .max(100, 'must have at most 100 characters')
    .optional()
    .meta({
      description: 'Only those in this token: its symbol or its address.',
      examples: ['USDC'],
    }),
  minAmount: amountSchema.meta({
    description: 'Only those of at least so many tokens, as people write it.',
    as: { type: 'string' },
    examples: ['0.25'],
  }),
  maxAmount: amountSchema.meta({
    description: 'Only those of at most so many tokens.',
    as: { type: 'string' },
    examples: ['100'],
  }),
  status: z.enum(STATUSES).optional().meta({ description: 'Only those in this state.' }),
  ...placeMembers,
  payer: textSchema
    .regex(/^0x[0-9a-f]{40}$/i, 'must be an address: 0x and 40 hexadecimal digits')
    .optional()
    .meta({ description: 'Only those of this payer’s address.' }),
  transaction: textSchema
    .regex(/^0x[0-9a-f]{64}$/i, 'must be a transaction: 0x and 64 hexadecimal digits')
    .optional()
    .meta({ description: 'Only those of this transaction.' }),
  resource: textSchema.optional().meta({ description: 'Only those that paid for this URL.' }),
  reference: z
    .custom<string>(isReference, NOT_A_REFERENCE)
    .optional()
    .meta({
      description:
        'Only those with this reference. One of search, payer, transaction, resource and reference may be given.',
      as: { type: 'string', minLength: 1 },
      examples: ['order-7'],
    }),
}

export const filterQuery = z.object(filterMembers).superRefine(checkFilters)

export const listQuery = z
  .object({
    cursor: placeParameter('[0-9a-f]{32}'),
    limit: limitParameter('Settlements'),
    ...filterMembers,
    ...changeMembers,
  })
  .superRefine(checkFilters)
  .superRefine(checkChanges)

export const refundQuery = z
  .object({
    cursor: placeParameter('[0-9a-f]{32}'),
    limit: limitParameter('Refunds'),
    status: z
      .enum(['pending', 'settled', 'failed'])
      .optional()
      .meta({ description: 'Only those in this state.' }),
    ...placeMembers,
    ...changeMembers,
  })
  .superRefine(checkTimes)
  .superRefine(checkChanges)

type Filters = z.output<z.ZodObject<typeof filterMembers>>
type Times = z.output<z.ZodObject<typeof placeMembers>>

function checkFilters(query: Filters, context: z.RefinementCtx): void {
  const given = SEARCHES.filter((name) => query[name] !== undefined)
  const [, second] = given
  // Each search has its own index. A combination has none, and could read every settlement.
  if (second !== undefined)
    context.addIssue({
      code: 'custom',
      path: [second],
      message: `cannot be combined with ${given[0]}: search by one of ${SEARCHES.join(', ')}`,
    })
  const { minAmount, maxAmount } = query
  if (minAmount && maxAmount && compare(minAmount, maxAmount) > 0)
    context.addIssue({
      code: 'custom',
      path: ['maxAmount'],
      message: 'must not be below minAmount',
    })
  checkTimes(query, context)
}

/** Changes have an index of their own, as each search has. */
function checkChanges(
  query: Times &
    Partial<Pick<Filters, 'status' | Search | AmountFilter>> &
    z.output<z.ZodObject<typeof changeMembers>>,
  context: z.RefinementCtx,
): void {
  if (query.updatedSince === undefined) return
  const other = (['from', 'to', ...SEARCHES, ...AMOUNTS] as const).find(
    (name) => query[name] !== undefined,
  )
  const message = 'cannot be combined with updatedSince'
  if (other !== undefined) context.addIssue({ code: 'custom', path: [other], message })
  if (query.status === 'reserved')
    context.addIssue({ code: 'custom', path: ['status'], message: `reserved ${message}` })
}

function checkTimes(query: Times, context: z.RefinementCtx): void {
  const { from, until } = spanOf(query)
  if (from !== undefined && until !== undefined && from > until)
    context.addIssue({ code: 'custom', path: ['to'], message: 'must not be before from' })
}

export function ledgerFilters({
  status,
  ...query
}: Times & Partial<Pick<Filters, 'status' | Search>>) {
  const state = status === 'pending' ? 'submitted' : status
  const { network } = query
  const search = searchOf(query)
  return {
    state,
    ...spanOf(query),
    chainId: network?.chainId,
    search,
  } satisfies Partial<LedgerQuery>
}

function spanOf({ from, to, timeZone }: Times) {
  return { from: from && momentOf(from, timeZone), until: to && momentOf(to, timeZone) }
}

function searchOf({
  search,
  payer,
  transaction,
  resource,
  reference,
}: Partial<Pick<Filters, Search>>): RecordSearch | undefined {
  if (search !== undefined) return readSearch(search)
  if (payer !== undefined) return { payer: lowerHex(payer) }
  if (transaction !== undefined) return { transaction: lowerHex(transaction) }
  if (resource !== undefined) return { resource }
  return reference === undefined ? undefined : { reference }
}

/** Tells whether a text has the form of a record's id. The ledger is asked only for such ids. */
export function isRecordId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}
