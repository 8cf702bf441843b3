import type { z } from 'zod'
import { suggestName } from './did-you-mean.js'
import { parseDocument, type DocumentError, type Parsed } from './document.js'

/** Longest name that is repeated. */
const MAX_SHOWN = 40

/** Most unknown members that are reported. */
const MAX_REPORTED = 10

/** Reads a document that may have no members beside the known and the tolerated ones. */
export function parseStrictDocument<T>(
  schema: z.ZodType<T>,
  value: unknown,
  members: KnownMembers,
): Parsed<T> {
  const unknown = findUnknownMembers(value, members)
  const parsed = parseDocument(schema, value)
  if (unknown.length === 0) return parsed
  return { ok: false, errors: [...unknown, ...(parsed.ok ? [] : parsed.errors)] }
}

/** Reports each unknown member, with the one that was probably meant. */
export function findUnknownMembers(
  value: unknown,
  { known, tolerated }: KnownMembers,
): readonly DocumentError[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.keys(value)
    .filter((name) => !known.includes(name) && !tolerated.includes(name))
    .slice(0, MAX_REPORTED)
    .map((name) => ({
      path: name.slice(0, MAX_SHOWN),
      message: `is not known here; ${suggestName(name, known)}`,
    }))
}

/**
 * Members and parameters of our own requests: those that are known, and those that are tolerated.
 *
 * The endpoints that take a price or a search are ours, and refuse unknown members: ignoring a
 * misspelled `currency` would sell euros for dollars. What x402 clients and real shops send in addition
 * is listed here, and nowhere else. The bodies of verify and settle are x402 documents, which may be
 * extended anywhere: they stay tolerant.
 */

/** The members that a request may have. */
export interface KnownMembers {
  readonly known: readonly string[]
  /** Not read, and not refused. */
  readonly tolerated: readonly string[]
}

/** x402 clients write these on top of every document. */
const ENVELOPE = ['x402Version', 'protocolVersion', 'extensions'] as const

/** `POST /api/v2/payment/requirements`. */
export const REQUIREMENTS_MEMBERS: KnownMembers = {
  known: ['resourceUrl', 'requestedAmount', 'currency', 'description', 'mimeType'],
  tolerated: ENVELOPE,
}

/** `POST /api/v2/merchant/checkout-prepare`. Its `resource` is x402's, and may have any members. */
export const CHECKOUT_MEMBERS: KnownMembers = {
  known: ['amount', 'currency', 'resource', 'reference'],
  tolerated: ENVELOPE,
}

/** What settlements are filtered by, and how their pages are asked for. */
const SETTLEMENT_FILTERS = [
  ...['cursor', 'limit', 'status', 'from', 'to'],
  ...['payer', 'transaction', 'resource', 'reference'],
] as const

/** The query of `GET /api/v2/merchant/settlements`. `_` is how some HTTP clients evade caches. */
export const SETTLEMENTS_QUERY: KnownMembers = {
  known: [...SETTLEMENT_FILTERS],
  tolerated: ['_'],
}

/** The query of `GET /api/v2/merchant/settlements/{id}/refunds/prepare`. */
export const REFUND_QUERY: KnownMembers = { known: ['amount'], tolerated: ['_'] }

/** `POST /api/v2/merchant/settlements/{id}/refunds`. */
export const REFUND_MEMBERS: KnownMembers = {
  known: ['authorization', 'signature'],
  tolerated: ENVELOPE,
}

/** `POST /api/v2/merchant/webhooks`, and `PATCH` of one. */
export const WEBHOOK_MEMBERS: KnownMembers = { known: ['url', 'events'], tolerated: [] }

/** The query of the deliveries of a webhook. */
export const DELIVERIES_QUERY: KnownMembers = {
  known: ['cursor', 'limit', 'state'],
  tolerated: ['_'],
}

/** The query of endpoints that take none. */
export const NO_QUERY: KnownMembers = { known: [], tolerated: ['_'] }
