import { dayOf } from '../format/text.js'
import { shownZone } from '../format/zone.js'
import { TextField, type Controlled } from './field.js'

const DAY_MS = 86_400_000

/** Days of the zone that is shown, both inclusive. */
export interface DateRange {
  readonly from: string
  readonly to: string
}

const PRESETS = [
  ['Today', 1],
  ['7 days', 7],
  ['30 days', 30],
  ['90 days', 90],
] as const

function plusDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}

export const today = (): string => dayOf(Date.now())

/** The last days, with today. */
export function lastDays(days: number): DateRange {
  const to = today()
  return { from: plusDays(to, 1 - days), to }
}

/** The range of as many days that ends before another one begins. */
export function rangeBefore({ from, to }: DateRange): DateRange {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  return { from: plusDays(from, -days), to: plusDays(from, -1) }
}

/** Most days of a chart: the API returns no more. */
const MAX_DAYS = 400

/** All days of a range, with or without payments. */
export function daysOf({ from, to }: DateRange): readonly string[] {
  const days: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to) && days.length < MAX_DAYS; at += DAY_MS)
    days.push(new Date(at).toISOString().slice(0, 10))
  return days
}

/** The range as the API takes it: its end is exclusive. */
export function spanOf({ from, to }: DateRange) {
  return {
    ...(from !== '' && { from }),
    ...(to !== '' && { to: plusDays(to, 1) }),
    timeZone: shownZone(),
  }
}

interface DateRangeFieldsProps extends Controlled<DateRange> {
  /** Whether either end may be left out. */
  readonly mayBeOpen?: boolean
}

export function DateRangeFields({ value, onValue, mayBeOpen = false }: DateRangeFieldsProps) {
  return (
    <div class="dates">
      <div class="presets" role="group" aria-label="Time">
        {PRESETS.map(([label, days]) => {
          const range = lastDays(days)
          const isChosen = range.from === value.from && range.to === value.to
          return (
            <button
              key={label}
              type="button"
              aria-pressed={isChosen}
              onClick={() => onValue(range)}
            >
              {label}
            </button>
          )
        })}
      </div>
      <TextField
        label="From"
        type="date"
        value={value.from}
        max={value.to || undefined}
        onValue={(from) => (mayBeOpen || from !== '') && onValue({ ...value, from })}
      />
      <TextField
        label="To"
        type="date"
        value={value.to}
        min={value.from || undefined}
        onValue={(to) => (mayBeOpen || to !== '') && onValue({ ...value, to })}
      />
    </div>
  )
}
