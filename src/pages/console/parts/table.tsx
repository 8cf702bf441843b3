import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  readonly title: string
  /** Right-aligned, with digits of one width. */
  readonly isNumber?: boolean
  /** Left out on a phone. */
  readonly isMinor?: boolean
  /** The link that sorts by this column, and how the rows are sorted by it now. */
  readonly sort?: { readonly href: string; readonly now: 'ascending' | 'descending' | undefined }
  readonly cell: (row: Row) => ComponentChildren
}

interface TableProps<Row> {
  /** For screen readers. */
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly rowClass?: (row: Row) => string
}

/** A table that scrolls if it is too wide. */
export function Table<Row>({ caption, columns, rows, keyOf, rowClass }: TableProps<Row>) {
  return (
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.title} of={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={rowClass?.(row)}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)}>
                  {column.cell(row)}
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

function Heading<Row>({ of }: { readonly of: Column<Row> }) {
  const { title, sort } = of
  return (
    <th scope="col" class={classOf(of)} {...(sort?.now && { 'aria-sort': sort.now })}>
      {sort === undefined ? (
        title
      ) : (
        <a href={sort.href}>
          {title}
          {sort.now && <span aria-hidden="true">{ARROWS[sort.now]}</span>}
        </a>
      )}
    </th>
  )
}

function classOf<Row>({ isNumber, isMinor }: Column<Row>): string {
  return `${isNumber ? 'number' : ''} ${isMinor ? 'minor' : ''}`.trim()
}

/** A list of names and values, without empty ones. */
export function Facts({
  of,
}: {
  readonly of: ReadonlyArray<readonly [name: string, value: ComponentChildren]>
}) {
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
