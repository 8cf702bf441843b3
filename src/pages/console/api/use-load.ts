import { useCallback, useContext, useEffect, useState } from 'preact/hooks'
import { SessionContext } from '../state/session.js'
import { ask, toProblem, type Problem } from './client.js'

export interface Loaded<T> {
  /** Stays while it reloads, so that nothing jumps. */
  readonly data: T | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  reload(): void
}

interface State<T> {
  readonly data?: T
  readonly problem?: Problem
  readonly isLoading: boolean
  /** What is loaded, or was. */
  readonly path: string | undefined
}

/**
 * Loads a document, again whenever its path changes and after somebody has signed in again.
 *
 * @param path - Below `/api/v2/`; nothing is loaded while it is `undefined`.
 */
export function useLoad<T>(path: string | undefined): Loaded<T> {
  const [state, setState] = useState<State<T>>({ isLoading: path !== undefined, path })
  const [turn, setTurn] = useState(0)
  const session = useContext(SessionContext)
  useEffect(() => {
    if (path === undefined) return
    const aborting = new AbortController()
    setState(({ data }) => ({ ...(data !== undefined && { data }), isLoading: true, path }))
    ask<T>('GET', path, { signal: aborting.signal }).then(
      (data) => aborting.signal.aborted || setState({ data, isLoading: false, path }),
      (error: unknown) => {
        if (aborting.signal.aborted) return
        setState(({ data }) => ({
          ...(data !== undefined && { data }),
          problem: toProblem(error),
          isLoading: false,
          path,
        }))
      },
    )
    return () => aborting.abort()
  }, [path, turn, session])
  const reload = useCallback(() => setTurn((before) => before + 1), [])
  const { data, problem } = state
  const isLoading = path !== undefined && (state.isLoading || state.path !== path)
  return { data, problem, isLoading, reload }
}

/** How often open payments are reloaded (ms). */
const POLL_MS = 2000

/** Reloads while the document is not final. */
export function useReloadWhile<T>({ data, reload }: Loaded<T>, isOpen: boolean): void {
  useEffect(() => {
    const timer = isOpen ? setTimeout(reload, POLL_MS) : undefined
    return () => clearTimeout(timer)
  }, [data, isOpen, reload])
}

export interface Action {
  readonly isBusy: boolean
  readonly problem: Problem | undefined
  /** Runs one at a time. @returns Whether it succeeded. */
  run(act: () => Promise<unknown>): Promise<boolean>
  clear(): void
}

/** Runs an action and keeps its problem. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  return {
    isBusy,
    problem,
    clear: () => setProblem(undefined),
    async run(act) {
      if (isBusy) return false
      setBusy(true)
      setProblem(undefined)
      try {
        await act()
        return true
      } catch (error) {
        setProblem(toProblem(error))
        return false
      } finally {
        setBusy(false)
      }
    },
  }
}
