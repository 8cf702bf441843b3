/** The time zone in which the page shows times, and whose days its filters mean. */

/** The browser's own zone. One that hides it says so in words that are no zone. */
export const ownZone = ((): string => {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return !timeZone || timeZone === 'Etc/Unknown' ? 'UTC' : timeZone
})()

let shown = ownZone

export const shownZone = (): string => shown

export function showZone(zone: string): void {
  shown = zone
}
