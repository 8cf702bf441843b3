/** Leads to the next page of a list, and back to its beginning. */
export function Pager({
  first,
  next,
}: {
  readonly first: string | undefined
  readonly next: string | undefined
}) {
  if (first === undefined && next === undefined) return null
  return (
    <nav class="pager" aria-label="Pages">
      {first !== undefined && <a href={first}>Newest</a>}
      {next !== undefined && (
        <a href={next} rel="next">
          Older<span aria-hidden="true"> →</span>
        </a>
      )}
    </nav>
  )
}
