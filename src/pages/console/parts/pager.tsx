import { linkToPage, type Route } from '../state/route.js'

interface PagerProps {
  readonly route: Route
  /** `nextCursor` of the page that is shown. */
  readonly next: string | undefined
}

/** Leads to the next page of a list, one page back, and to its beginning. */
export function Pager({ route, next }: PagerProps) {
  const cursors = route.query.getAll('cursor')
  if (cursors.length === 0 && next === undefined) return null
  return (
    <nav class="pager" aria-label="Pages">
      {cursors.length > 1 && <a href={linkToPage(route, [])}>First page</a>}
      {cursors.length > 0 && (
        <a href={linkToPage(route, cursors.slice(0, -1))} rel="prev">
          <span aria-hidden="true">← </span>Previous
        </a>
      )}
      {next !== undefined && (
        <a href={linkToPage(route, [...cursors, next])} rel="next">
          Next<span aria-hidden="true"> →</span>
        </a>
      )}
    </nav>
  )
}
