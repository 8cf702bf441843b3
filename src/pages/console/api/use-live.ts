import { useEffect, useRef, useState } from 'preact/hooks'
import { queryOf } from '../state/route.js'
import { apiUrl, ask } from './client.js'
import type { Settlement } from './documents.js'

/** State of the stream of payments. */
export type Connection = 'connecting' | 'live' | 'lost'

/** When to reopen a stream that the gateway refused (ms). */
const RETRY_MS = 5000

/**
 * Listens to payments as they change.
 *
 * @param scope - `admin` or `merchant`.
 * @param only - A project and a network, if not empty.
 */
export function useLive(
  scope: string,
  { project, network }: { readonly project: string; readonly network: string },
  onSettlement: (settlement: Settlement) => void,
): Connection {
  const [connection, setConnection] = useState<Connection>('connecting')
  const listenerRef = useRef(onSettlement)
  useEffect(() => {
    listenerRef.current = onSettlement
  })
  useEffect(() => {
    const query = queryOf({ project, network })
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const open = (): void => {
      source = new EventSource(apiUrl(`${scope}/events${query}`))
      source.addEventListener('open', () => setConnection('live'))
      source.addEventListener('settlement', (event: MessageEvent<string>) =>
        listenerRef.current(JSON.parse(event.data) as Settlement),
      )
      source.addEventListener('error', () => {
        setConnection('lost')
        // After an error response, the browser does not retry.
        if (source?.readyState !== EventSource.CLOSED) return
        timer = setTimeout(open, RETRY_MS)
        // Any request finds out whether the session has ended.
        ask('GET', `${scope}/settlements?limit=1`).catch(() => undefined)
      })
    }
    open()
    return () => {
      clearTimeout(timer)
      source?.close()
    }
  }, [scope, project, network])
  return connection
}

/** Reloads a list once a lost connection is back: the stream tells only what happens from then on. */
export function useReconnected(connection: Connection, reload: () => void): void {
  const [wasLost, setLost] = useState(false)
  useEffect(() => {
    if (connection === 'lost') setLost(true)
    if (connection !== 'live' || !wasLost) return
    setLost(false)
    reload()
  }, [connection, wasLost, reload])
}

/** How often "seconds ago" is refreshed (ms). */
const TICK_MS = 10_000

/** Refreshes a view that shows how long ago things were. */
export function useTicks(): void {
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick((before) => before + 1), TICK_MS)
    return () => clearInterval(timer)
  }, [])
}
