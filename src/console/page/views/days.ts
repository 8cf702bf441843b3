import type { DateRange } from '../parts/date-range.js'

const DAY_MS = 86_400_000

/** Days that a chart shows at most: the API gives no more. */
const MAX_DAYS = 400

/** All days of a range, those without payments too. */
export function daysOf({ from, to }: DateRange): readonly string[] {
  const days: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to) && days.length < MAX_DAYS; at += DAY_MS)
    days.push(new Date(at).toISOString().slice(0, 10))
  return days
}
