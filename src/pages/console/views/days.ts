import type { DateRange } from '../parts/date-range.js'

const DAY_MS = 86_400_000

/** Most days of a chart: the API returns no more. */
const MAX_DAYS = 400

/** All days of a range, with or without payments. */
export function daysOf({ from, to }: DateRange): readonly string[] {
  const days: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to) && days.length < MAX_DAYS; at += DAY_MS)
    days.push(new Date(at).toISOString().slice(0, 10))
  return days
}
