import { describe, expect, it } from '@jest/globals'
import {
  dayName,
  dayOf,
  DAY_MS,
  evenSpans,
  findTimeZone,
  isoTime,
  startOfDay,
  UTC,
  zoneWithin,
} from '../../src/ledger/time-zone.js'

const at = (iso: string): number => Date.parse(iso)
const zone = (name: string) => findTimeZone(name)!
const startOf = (name: string, day: string): string =>
  isoTime(startOfDay(zone(name), at(day) / DAY_MS), zone(name))

describe('a time zone', () => {
  it.each([
    ['Pacific/Auckland', '2026-11-26', '2026-11-26T00:00:00.000+13:00'],
    ['America/Los_Angeles', '2026-11-26', '2026-11-26T00:00:00.000-08:00'],
    ['Asia/Kolkata', '2026-11-26', '2026-11-26T00:00:00.000+05:30'],
    ['Pacific/Chatham', '2026-01-01', '2026-01-01T00:00:00.000+13:45'],
    ['+05:30', '2026-11-26', '2026-11-26T00:00:00.000+05:30'],
    ['-03:30', '2026-11-26', '2026-11-26T00:00:00.000-03:30'],
    // Clocks are put forward at midnight: the day begins at one o'clock.
    ['Asia/Beirut', '2026-03-29', '2026-03-29T01:00:00.000+03:00'],
    // Clocks are put back at midnight: the day before has 25 hours.
    ['Asia/Beirut', '2026-10-25', '2026-10-25T00:00:00.000+02:00'],
    // One o'clock becomes midnight once more.
    ['America/Havana', '2026-11-01', '2026-11-01T00:00:00.000-04:00'],
  ])('%s begins %s at %s', (name, day, start) => {
    expect(startOf(name, day)).toBe(start)
    const ms = at(start)
    const days = [ms - 1, ms].map((one) => dayName(dayOf(zone(name), one)))
    expect(days).toEqual([dayName(at(day) / DAY_MS - 1), day])
  })

  it('has times of UTC as they always were', () => {
    expect(isoTime(0)).toBe('1970-01-01T00:00:00.000Z')
    expect(isoTime(0, UTC)).toBe('1970-01-01T00:00:00.000Z')
    expect(findTimeZone('utc')?.name).toBe('UTC')
  })

  it.each(['', 'Mars/Olympus', '+5', '5', '+15:00', '+05:60', ' 05:30', "UTC' OR 1=1", '+0530'])(
    'is not called %j',
    (name) => expect(findTimeZone(name)).toBeUndefined(),
  )

  it('divides a span where its clocks are changed, and nowhere else', () => {
    const berlin = zone('Europe/Berlin')
    const span = { from: at('2026-03-01T12:00:00Z'), until: at('2026-11-01T12:00:00Z') }
    const changes = ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'].map(at)
    expect([...evenSpans(berlin, span)]).toEqual([
      { from: span.from, until: changes[0], offsetMs: 3_600_000 },
      { from: changes[0], until: changes[1], offsetMs: 7_200_000 },
      { from: changes[1], until: span.until, offsetMs: 3_600_000 },
    ])
    const fast = zoneWithin(berlin, span)
    for (let ms = span.from; ms < span.until; ms += 1_800_000)
      expect(fast.offsetAt(ms)).toBe(berlin.offsetAt(ms))
    expect([...evenSpans(UTC, span)]).toEqual([{ ...span, offsetMs: 0 }])
    expect([...evenSpans(berlin, { from: 5, until: 5 })]).toEqual([])
  })
})
