import type { ComponentChildren } from 'preact'
import type { Problem } from '../api/client.js'
import type { Loaded } from '../api/use-load.js'
import { Button } from './button.js'
import type { Of } from './of.js'

interface ProblemNoticeProps {
  readonly problem: Problem | undefined
  readonly onRetry?: () => void
  /** Members whose errors are shown next to their fields. */
  readonly shownElsewhere?: (path: string) => boolean
  /** What to do about it. */
  readonly children?: ComponentChildren
}

/** Shows a problem in the gateway's own words. */
export function ProblemNotice(props: ProblemNoticeProps) {
  const { problem, onRetry, shownElsewhere, children } = props
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
      {children}
      {(requestId !== undefined || onRetry) && (
        <p class="notice-foot">
          {onRetry && <Button onClick={onRetry}>Try again</Button>}
          {requestId !== undefined && <small>Request {requestId}</small>}
        </p>
      )}
    </div>
  )
}

export function Notice({ children }: { readonly children: ComponentChildren }) {
  return <div class="notice">{children}</div>
}

/** Room to reserve while loading. */
export type Room = 'line' | 'block' | 'tall'

interface LoadedProps<T> extends Of<Loaded<T>> {
  readonly room?: Room | undefined
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

interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
}

/** Shown instead of an empty list. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  )
}

interface NoResultsProps {
  /** Of the whole list. */
  readonly href: string
  /** @defaultValue `Clear filters` */
  readonly verb?: string
}

/** Shown instead of a list in which a search found nothing. */
export function NoResults({ href, verb = 'Clear filters' }: NoResultsProps) {
  return (
    <Empty title="No results">
      <a href={href}>{verb}</a>
    </Empty>
  )
}
