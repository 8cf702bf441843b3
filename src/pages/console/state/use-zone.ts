import { useEffect, useState } from 'preact/hooks'
import { ownZone, showZone, shownZone } from '../format/zone.js'

const KEY = 'x402-console-time-zone'
const UTC = 'UTC'

if (wasUtc()) showZone(UTC)

const listeners = new Set<() => void>()

/** The zone that is shown, for a component that is drawn again when another one is chosen. */
export function useZone(): readonly [zone: string, choose: (zone: string) => void] {
  const [, redraw] = useState(0)
  useEffect(() => {
    const listener = (): void => redraw((turn) => turn + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  return [shownZone(), chooseZone]
}

function chooseZone(zone: string): void {
  showZone(zone === UTC ? UTC : ownZone)
  try {
    localStorage.setItem(KEY, zone === UTC ? UTC : 'own')
  } catch {
    // The choice holds until the page is closed.
  }
  for (const listener of listeners) listener()
}

function wasUtc(): boolean {
  try {
    return localStorage.getItem(KEY) === UTC
  } catch {
    return false
  }
}
