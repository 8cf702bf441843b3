import type { ComponentChildren } from 'preact'
import type { Loaded } from '../api/use-load.js'
import { linkToPage, type Route } from '../state/route.js'
import { LoadedView, type Room } from './notice.js'
import type { Of } from './of.js'

/** Numbers are right-aligned, with digits of one width. What is minor is left out on a phone. */
type Look = '' | 'number' | 'minor' | 'number minor'

/** The link that sorts by a column, and how the rows are sorted by it now. */
interface Sort {
  readonly href: string
  readonly now: 'ascending' | 'descending' | undefined
}

export type Column<Row> = readonly [
  title: string,
  cell: (row: Row) => ComponentChildren,
  look?: Look,
  sort?: Sort,
]

interface TableProps<Row> {
  /** For screen readers. */
  readonly caption: string
  readonly rows: readonly Row[]
  /** @defaultValue the row's id */
  readonly keyOf?: (row: Row) => string
  readonly rowClass?: (row: Row) => string
  readonly columns: ReadonlyArray<Column<Row>>
}

const idOf = (row: unknown): string => (row as { readonly id: string }).id

/** A table that scrolls if it is too wide. */
export function Table<Row>({ caption, columns, rows, keyOf = idOf, rowClass }: TableProps<Row>) {
  return (
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(([title, , look = '', sort]) => (
              <th
                key={title}
                scope="col"
                class={look}
                {...(sort?.now && { 'aria-sort': sort.now })}
              >
                {sort === undefined ? title : <SortLink title={title} {...sort} />}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={rowClass?.(row)}>
              {columns.map(([title, cell, look = '']) => (
                <td key={title} class={look}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const ARROWS = { ascending: ' ↑', descending: ' ↓' } as const

function SortLink({ title, href, now }: Sort & { readonly title: string }) {
  return (
    <a href={href}>
      {title}
      {now && <span aria-hidden="true">{ARROWS[now]}</span>}
    </a>
  )
}

interface ListProps<Data, Row> extends Omit<TableProps<Row>, 'rows'>, Of<Loaded<Data>> {
  readonly rows: (data: Data) => readonly Row[]
  readonly room?: Room
  /** Shown above the rows. */
  readonly lead?: (data: Data) => ComponentChildren
  /** Shown instead of the table where there are no rows. */
  readonly empty: (data: Data) => ComponentChildren
  /** The route of a list that has pages. */
  readonly route?: Route
}

/** A list that is loaded: a table, or what is said of an empty one, and the way to its other pages. */
export function List<Data extends object, Row>(props: ListProps<Data, Row>) {
  const { of, rows: rowsOf, room, lead, empty, route, ...table } = props
  return (
    <LoadedView of={of} room={room}>
      {(data) => {
        const rows = rowsOf(data)
        const { nextCursor } = data as { readonly nextCursor?: string }
        return (
          <>
            {lead?.(data)}
            {rows.length === 0 ? empty(data) : <Table {...table} rows={rows} />}
            {route && <Pager route={route} next={nextCursor} />}
          </>
        )
      }}
    </LoadedView>
  )
}

interface PagerProps {
  readonly route: Route
  /** `nextCursor` of the page that is shown. */
  readonly next: string | undefined
}

/** Leads to the next page of a list, one page back, and to its beginning. */
function Pager({ route, next }: PagerProps) {
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

/** A list of names and values, without empty ones. */
export function Facts({
  of,
}: Of<ReadonlyArray<readonly [name: string, value: ComponentChildren]>>) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== false && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
