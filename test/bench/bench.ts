import type { TestPayer } from '../support/sign-payment.js'
import type { Table } from './table.js'

/** What each section of the benchmark is given. */
export interface Bench {
  readonly rounds: number
  /** A quarter of the load: to see whether it works. */
  readonly isQuick: boolean
  /** URL of another checkout's entry, to be measured beside this one. */
  readonly before?: string
  /** Minutes of the sustained load. */
  readonly sustainedMinutes: number
  /** Settled payments in the ledger, one measurement for each number. */
  readonly rows: readonly number[]
  /** Enough of them for the largest crowd. */
  readonly buyers: readonly TestPayer[]
  readonly table: Table
  /** Tells who waits what is going on. */
  note(words: string): void
}

/** So many, or a quarter of it. */
export function scaled({ isQuick }: Bench, count: number): number {
  return isQuick ? Math.ceil(count / 4) : count
}

/** The same members in another order each round: none is always first. */
export function inTurn<T>(members: readonly T[], round: number): readonly T[] {
  const first = round % members.length
  return [...members.slice(first), ...members.slice(0, first)]
}
