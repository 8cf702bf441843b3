import type { ComponentChildren } from 'preact'
import type { Problem } from '../api/client.js'
import type { Loaded } from '../api/use-load.js'

interface ProblemNoticeProps {
  readonly problem: Problem | undefined
  readonly onRetry?: () => void
  /** Members whose errors are shown next to their fields. */
  readonly shownElsewhere?: (path: string) => boolean
}

/** Shows a problem in the gateway's own words. */
export function ProblemNotice({ problem, onRetry, shownElsewhere }: ProblemNoticeProps) {
  if (problem === undefined) return null
  const errors = problem.errors.filter(({ path }) => !shownElsewhere?.(path))
  // Of one's own mistake, nobody looks for the request in a log.
  const requestId = problem.status >= 500 ? problem.requestId : undefined
  const allElsewhere = problem.errors.length > 0 && errors.length === 0
  return (
    <div class="notice notice-bad" role="alert">
      <p>{allElsewhere ? 'Not saved: see the marked fields.' : problem.message}</p>
      {errors.length > 1 && (
        <ul>
          {errors.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {(requestId !== undefined || onRetry) && (
        <p class="notice-foot">
          {onRetry && (
            <button type="button" class="button" onClick={onRetry}>
              Try again
            </button>
          )}
          {requestId !== undefined && <small>Request {requestId}</small>}
        </p>
      )}
    </div>
  )
}

export function Notice({ children }: { readonly children: ComponentChildren }) {
  return <div class="notice">{children}</div>
}

interface LoadedProps<T> {
  readonly of: Loaded<T>
  /** Room to reserve while loading. */
  readonly room?: 'line' | 'block' | 'tall'
  readonly children: (data: T) => ComponentChildren
}

/** Shows a loaded document, or its problem. */
export function LoadedView<T>({ of, room = 'block', children }: LoadedProps<T>) {
  const { data, problem, isLoading, reload } = of
  return (
    <div class={data === undefined ? `loaded room-${room}` : 'loaded'} aria-busy={isLoading}>
      <ProblemNotice problem={problem} onRetry={reload} />
      {data === undefined && !problem && <p class="loading">Loading…</p>}
      {data !== undefined && children(data)}
    </div>
  )
}

/** Shown instead of an empty list. */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  )
}
