/** Times, numbers and addresses for people, in the browser's locale. */
import { shownZone } from './zone.js'

const CLOCK = { hour: 'numeric', minute: '2-digit', second: '2-digit' } as const

const timeFormat = inZone({
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  ...CLOCK,
  timeZoneName: 'short',
} as const)
/** Without the year and the zone, which the title has. */
const shortFormat = inZone({ month: 'short', day: 'numeric', ...CLOCK } as const)
const dateFormat = inZone({ year: 'numeric', month: '2-digit', day: '2-digit' } as const, 'en-CA')

function inZone(options: Intl.DateTimeFormatOptions, locale?: string): () => Intl.DateTimeFormat {
  const made = new Map<string, Intl.DateTimeFormat>()
  return () => {
    const timeZone = shownZone()
    const format = made.get(timeZone) ?? new Intl.DateTimeFormat(locale, { ...options, timeZone })
    made.set(timeZone, format)
    return format
  }
}
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
const SHORT_DAY = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
})
const NUMBER = new Intl.NumberFormat()
const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

export const formatTime = (iso: string): string => timeFormat().format(new Date(iso))

/** For tables, whose times are mostly recent. */
export const formatShortTime = (iso: string): string => shortFormat().format(new Date(iso))

/** The day of a moment in the zone that is shown: `2026-01-31`. */
export const dayOf = (ms: number): string => dateFormat().format(ms)

/** A day: `2026-01-31`. */
export const formatDay = (day: string): string => DAY.format(new Date(`${day}T00:00:00Z`))

/** A day on the axis of a chart, by its seconds since the epoch. */
export const formatShortDay = (seconds: number): string => SHORT_DAY.format(seconds * 1000)

export const formatNumber = (value: number): string => NUMBER.format(value)

/** A share in percent; `–` of zero. */
export const formatShare = (part: number, whole: number): string =>
  whole === 0 ? '–' : PERCENT.format(part / whole)

const CHANGE = new Intl.NumberFormat(undefined, {
  style: 'percent',
  maximumFractionDigits: 0,
  signDisplay: 'exceptZero',
})

/** A change in percent; `new` from zero. */
export const formatChange = (now: number, before: number): string =>
  before === 0 ? 'new' : CHANGE.format((now - before) / Math.abs(before))

const STEPS = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const

export function formatAgo(iso: string, now = Date.now()): string {
  const seconds = Math.round((Date.parse(iso) - now) / 1000)
  const [size, unit] = STEPS.find(([step]) => Math.abs(seconds) >= step) ?? STEPS[3]
  return RELATIVE.format(Math.trunc(seconds / size), unit)
}

/** Milliseconds: `840 ms`, `1.2 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${formatNumber(Math.round(ms))} ms`
  if (ms < 60_000) return `${formatNumber(Math.round(ms / 100) / 10)} s`
  return `${formatNumber(Math.round(ms / 6000) / 10)} min`
}

/** The beginning and the end of an address or a hash. */
export function shorten(hex: string): string {
  return hex.length <= 16 ? hex : `${hex.slice(0, 6)}…${hex.slice(-4)}`
}

/** Returns a stranger's text if it is an http(s) URL. */
export function safeUrl(text: string | undefined): string | undefined {
  if (text === undefined || !/^https?:\/\//i.test(text)) return undefined
  return URL.canParse(text) ? text : undefined
}

/** `payment.settled` and `project_configured`, in words. */
export function words(code: string): string {
  const text = code.replaceAll(/[._]/g, ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
