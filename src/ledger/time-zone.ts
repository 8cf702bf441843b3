/** Time zones: when a day begins, and which day a moment belongs to. */

export interface TimeZone {
  /** IANA's name, in its usual spelling, or an offset: `Europe/Berlin`, `UTC`, `+05:30`. */
  readonly name: string
  /** What its clocks are ahead of UTC at a moment (ms). */
  readonly offsetAt: (ms: number) => number
}

const MINUTE_MS = 60_000

export const DAY_MS = 86_400_000

/** No zone is further from UTC (minutes). */
const MAX_OFFSET_MINUTES = 14 * 60

export const UTC: TimeZone = { name: 'UTC', offsetAt: () => 0 }

/** Finds a zone by IANA's name or its offset; `undefined` if it is none. */
export function findTimeZone(name: string): TimeZone | undefined {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):([0-5]\d)$/.exec(name) ?? []
  if (sign !== undefined) {
    const offset = Number(hours) * 60 + Number(minutes)
    if (offset > MAX_OFFSET_MINUTES) return undefined
    const offsetMs = (sign === '-' ? -offset : offset) * MINUTE_MS
    return { name, offsetAt: () => offsetMs }
  }
  // Names begin with a letter: some versions of Node take offsets, in forms of their own.
  return /^[A-Za-z]/.test(name) ? namedZone(name) : undefined
}

function namedZone(timeZone: string): TimeZone | undefined {
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    } as const)
  } catch {
    return undefined
  }
  const offsetAt = (ms: number): number => {
    const seconds = Math.floor(ms / 1000) * 1000
    const parts = Object.fromEntries(
      format.formatToParts(seconds).map(({ type, value }) => [type, value]),
    )
    const numbers = ['month', 'day', 'hour', 'minute', 'second'].map((type) => Number(parts[type]))
    const [month = 1, ...rest] = numbers
    const year = parts['era'] === 'BC' ? 1 - Number(parts['year']) : Number(parts['year'])
    const local = new Date(0).setUTCFullYear(year, month - 1, rest[0])
    const [, hour = 0, minute = 0, second = 0] = rest
    return local + ((hour * 60 + minute) * 60 + second) * 1000 - seconds
  }
  return { name: format.resolvedOptions().timeZone, offsetAt }
}

/** The day of a moment, in days since the epoch. */
export function dayOf({ offsetAt }: TimeZone, ms: number): number {
  return Math.floor((ms + offsetAt(ms)) / DAY_MS)
}

/** When a day begins. @param day - Days since the epoch. */
export function startOfDay({ offsetAt }: TimeZone, day: number): number {
  const midnight = day * DAY_MS
  const [before, after] = [offsetAt(midnight - DAY_MS), offsetAt(midnight + DAY_MS)]
  const times = [before, after].map((offset) => midnight - offset)
  const real = times.filter((time) => time + offsetAt(time) === midnight)
  // Clocks that are put forward at midnight skip it: the day begins at that moment.
  return real.length > 0 ? Math.min(...real) : midnight - before
}

/** A moment in ISO 8601, as the clocks of a zone show it. */
export function isoTime(ms: number, zone: TimeZone = UTC): string {
  const minutes = Math.round(zone.offsetAt(ms) / MINUTE_MS)
  const text = new Date(ms + minutes * MINUTE_MS).toISOString()
  if (zone === UTC) return text
  const [hours, rest] = [Math.abs(minutes) / 60, Math.abs(minutes) % 60]
  const digits = [Math.floor(hours), rest].map((number) => String(number).padStart(2, '0'))
  return text.replace('Z', `${minutes < 0 ? '-' : '+'}${digits.join(':')}`)
}

export function dayName(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** A time in milliseconds since the epoch; `until` is exclusive. */
interface Span {
  readonly from: number
  readonly until: number
}

/** Divides a span wherever the clocks of a zone are changed. */
export function* evenSpans(
  { offsetAt }: TimeZone,
  { from, until }: Span,
): Generator<Span & { readonly offsetMs: number }> {
  let start = from
  for (let at = from; at < until;) {
    const next = Math.min(at + DAY_MS, until)
    const offsetMs = offsetAt(at)
    if (next < until && offsetAt(next) === offsetMs) {
      at = next
      continue
    }
    const end = offsetAt(next) === offsetMs ? next : changeBetween(offsetAt, at, next)
    yield { from: start, until: end, offsetMs }
    start = end
    at = end
  }
}

/** The same zone, faster: its clocks are looked up once for a span, outside of which it is not asked. */
export function zoneWithin(zone: TimeZone, span: Span): TimeZone {
  const spans = [...evenSpans(zone, span)]
  return {
    name: zone.name,
    offsetAt: (ms) =>
      spans.find(({ until }) => ms < until)?.offsetMs ?? spans.at(-1)?.offsetMs ?? 0,
  }
}

/** The first moment with another offset, to the millisecond. */
function changeBetween(offsetAt: TimeZone['offsetAt'], from: number, until: number): number {
  const offset = offsetAt(from)
  let [before, after] = [from, until]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (offsetAt(middle) === offset) before = middle
    else after = middle
  }
  return after
}
