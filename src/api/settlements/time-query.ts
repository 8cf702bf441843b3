/** Times and time zones, as queries ask for them. */
import { z } from 'zod'
import { DAY_MS, findTimeZone, startOfDay, UTC, type TimeZone } from '../../ledger/time-zone.js'
import { readBy } from '../serve/pages.js'

/** A moment (ms), or the begin of a day (days since the epoch) in the zone of the query. */
type AskedTime = { readonly ms: number } | { readonly day: number }

const NOT_A_TIME = 'must be a time, like 2026-01-31T00:00:00Z'

export const timeSchema = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], NOT_A_TIME)
  .transform((text): AskedTime => {
    const ms = Date.parse(text)
    return text.length === '2026-01-31'.length ? { day: ms / DAY_MS } : { ms }
  })

const NOT_A_ZONE =
  'must be a time zone: a name like Europe/Berlin, UTC, or an offset like +02:00, whose + is written %2B in a URL'

export const timeZoneParameter = z
  .string(NOT_A_ZONE)
  .transform(readBy(findTimeZone, NOT_A_ZONE))
  .optional()
  .meta({
    description:
      'Zone of the days that are meant: an IANA name or an offset. A date is midnight there. Default: UTC.',
    as: { type: 'string', default: 'UTC' },
    examples: ['Europe/Berlin', '+05:30'],
  })

export function momentOf(time: AskedTime, zone: TimeZone | undefined): number {
  return 'ms' in time ? time.ms : startOfDay(zone ?? UTC, time.day)
}
