import { TextField } from './field.js'

const DAY_MS = 86_400_000

/** Days of UTC, both inclusive. */
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

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** The last days, with today. */
export function lastDays(days: number, now = Date.now()): DateRange {
  return { from: dayOf(now - (days - 1) * DAY_MS), to: dayOf(now) }
}

/** The range as the API takes it: its end is exclusive. */
export function spanOf({ from, to }: DateRange): { from?: string; to?: string } {
  return {
    ...(from !== '' && { from }),
    ...(to !== '' && { to: dayOf(Date.parse(to) + DAY_MS) }),
  }
}

interface DateRangeFieldsProps {
  readonly value: DateRange
  readonly onValue: (range: DateRange) => void
}

export function DateRangeFields({ value, onValue }: DateRangeFieldsProps) {
  return (
    <>
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
        max={value.to}
        onValue={(from) => from !== '' && onValue({ ...value, from })}
      />
      <TextField
        label="To"
        type="date"
        value={value.to}
        min={value.from}
        onValue={(to) => to !== '' && onValue({ ...value, to })}
      />
    </>
  )
}
