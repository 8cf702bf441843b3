import { useCallback, useContext, useEffect, useState } from 'preact/hooks'
import { SessionContext } from '../state/session.js'
import { ask, toProblem, type Problem } from './client.js'

export interface Loaded<T> {
  /** Stays while it reloads, so that nothing jumps. */
  readonly data: T | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  /** How long the last answer took (ms). */
  readonly tookMs: number
  reload(): void
}

interface State<T> extends Omit<Loaded<T>, 'reload'> {
  /** What is loaded, or was. */
  readonly path: string | undefined
}

const NOTHING = { data: undefined, problem: undefined, tookMs: 0 }

/**
 * Loads a document, again whenever its path changes and after somebody has signed in again.
 *
 * @param path - Below `/api/v2/`; nothing is loaded while it is `undefined`.
 */
export function useLoad<T>(path: string | undefined): Loaded<T> {
  const [state, setState] = useState<State<T>>({ ...NOTHING, isLoading: path !== undefined, path })
  const [turn, setTurn] = useState(0)
  const session = useContext(SessionContext)
  useEffect(() => {
    if (path === undefined) return
    const aborting = new AbortController()
    const startedAt = performance.now()
    const end = (change: (before: State<T>) => Pick<State<T>, 'data' | 'problem'>): void => {
      if (aborting.signal.aborted) return
      const tookMs = performance.now() - startedAt
      setState((before) => ({ ...change(before), isLoading: false, path, tookMs }))
    }
    setState((before) => {
      // Somebody who looks at a problem is not told of it again and again.
      const problem = before.path === path ? before.problem : undefined
      return { ...before, problem, isLoading: true, path }
    })
    ask<T>('GET', path, { signal: aborting.signal }).then(
      (data) => end((before) => ({ data: sameOr(data, before.data), problem: undefined })),
      (error: unknown) => end(({ data }) => ({ data, problem: toProblem(error) })),
    )
    return () => aborting.abort()
  }, [path, turn, session])
  const reload = useCallback(() => setTurn((before) => before + 1), [])
  const isLoading = path !== undefined && (state.isLoading || state.path !== path)
  return { ...state, isLoading, reload }
}

/** Keeps a document that has not changed: charts are not drawn again, and nothing flickers. */
function sameOr<T>(data: T, before: T | undefined): T {
  return JSON.stringify(data) === JSON.stringify(before) ? before! : data
}

/** How often a document is reloaded (ms). */
const POLL_MS = 3000

/** An answer that took long is asked for after ten times as long, so that sums do not keep the gateway busy. */
const REST = 10

/** Whether asking again is no use: the gateway has refused it, and not only for now. */
const isRefusal = ({ status }: Problem): boolean => status >= 400 && status < 500 && status !== 429

/** Reloads while the document may change and the page is looked at. */
export function useReloadWhile<T>(
  { problem, isLoading, tookMs, reload }: Loaded<T>,
  isOpen: boolean,
): void {
  const isWaiting = isOpen && !isLoading && !(problem && isRefusal(problem))
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(
      () => document.visibilityState === 'visible' && reload(),
      Math.max(POLL_MS, REST * tookMs),
    )
    return () => clearInterval(timer)
  }, [isWaiting, tookMs, reload])
}

/** As {@link useLoad}; the document stays fresh while the page is looked at. */
export function useFresh<T>(path: string | undefined): Loaded<T> {
  const loaded = useLoad<T>(path)
  useReloadWhile(loaded, path !== undefined)
  return loaded
}

export interface Action<Args extends unknown[] = []> {
  readonly isBusy: boolean
  readonly problem: Problem | undefined
  /** Runs one at a time. @returns Whether it succeeded. */
  run(...args: Args): Promise<boolean>
}

/** Keeps the problem of an action. */
export function useAction<Args extends unknown[]>(
  act: (...args: Args) => Promise<unknown>,
): Action<Args> {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  return {
    isBusy,
    problem,
    async run(...args) {
      if (isBusy) return false
      setBusy(true)
      setProblem(undefined)
      try {
        await act(...args)
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
