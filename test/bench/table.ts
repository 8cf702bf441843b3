/** The figures of a benchmark, and the one table they make. */
import { median } from './statistics.js'

/** Whose figure it is. */
export type Column =
  | 'sqlite'
  | 'postgres'
  | 'ours'
  | 'oursWithThree'
  | 'oursWithMetrics'
  | 'before'
  | 'beforeSqlite'
  | 'beforePostgres'
  | 'official'
  | 'bare'

/** One figure, measured once a round. */
interface Row {
  readonly unit: string
  readonly values: Partial<Record<Column, number[]>>
}

const TITLES: Readonly<Record<Column, string>> = {
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
  ours: 'memory',
  oursWithThree: 'memory, 3 relayers',
  oursWithMetrics: 'memory, with metrics',
  before: 'memory before',
  beforeSqlite: 'SQLite before',
  beforePostgres: 'PostgreSQL before',
  official: 'official',
  bare: 'bare Express',
}
const COLUMNS = Object.keys(TITLES) as Column[]

/** What is compared. */
const RATIOS = [
  ['sqlite', 'ours'],
  ['postgres', 'ours'],
  ['sqlite', 'official'],
  ['ours', 'before'],
  ['sqlite', 'beforeSqlite'],
  ['postgres', 'beforePostgres'],
  ['oursWithMetrics', 'ours'],
  ['ours', 'official'],
  ['ours', 'bare'],
] as const

/** All figures of a run. */
export class Table {
  readonly #rows = new Map<string, Row>()

  /** Adds what one round has measured. */
  add(figure: string, unit: string, measured: Partial<Record<Column, number>>): void {
    const row = this.#rows.get(figure) ?? { unit, values: {} }
    this.#rows.set(figure, row)
    for (const column of COLUMNS) {
      const value = measured[column]
      if (value !== undefined) (row.values[column] ??= []).push(value)
    }
  }

  /** Markdown: medians, and of each round's ratio the median, the least and the greatest. */
  toMarkdown(): string {
    const rows = [...this.#rows.values()]
    const columns = COLUMNS.filter((column) => rows.some(({ values }) => values[column]))
    const ratios = RATIOS.filter((pair) => pair.every((column) => columns.includes(column)))
    const head = [
      ...['figure', 'unit', ...columns.map((column) => TITLES[column])],
      ...ratios.map(([one, other]) => `${TITLES[one]} ÷ ${TITLES[other]}`),
    ]
    const lines = [...this.#rows].map(([figure, { unit, values }]) => [
      figure,
      unit,
      ...columns.map((column) => format(values[column] && median(values[column]))),
      ...ratios.map(([one, other]) => formatRatios(ratiosOf(values[one], values[other]))),
    ])
    return toMarkdown(head, lines)
  }
}

/** Rounds are compared one by one: what slows the machine for a while slows both. */
function ratiosOf(ones: readonly number[] = [], others: readonly number[] = []): readonly number[] {
  return ones.flatMap((one, round) => (others[round] ? [one / others[round]] : []))
}

function formatRatios(ratios: readonly number[]): string {
  if (ratios.length === 0) return ''
  const [least, middle, most] = [Math.min(...ratios), median(ratios), Math.max(...ratios)].map(
    format,
  )
  return ratios.length === 1 ? `${middle}` : `${middle} (${least}–${most})`
}

function format(value: number | undefined): string {
  if (value === undefined) return ''
  if (value === 0 || Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

function toMarkdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  // The first two hold words, the others numbers.
  const pad = (cell: string, column: number): string =>
    column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  const rule = widths.map((width, column) =>
    column < 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [head, rule, ...rows]
    .map((row) => `| ${row.map((cell, column) => pad(cell, column)).join(' | ')} |`)
    .join('\n')
}
