/** Statements that are written by hand. */
import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import type { LedgerDatabase } from '../schema/tables.js'
import type { SqlDialect } from './dialect.js'

export type Statement = (dialect: SqlDialect) => string

export type RunStatement = (
  statement: Statement,
  parameters: readonly unknown[],
  connection?: Kysely<LedgerDatabase>,
) => Promise<readonly unknown[]>

/** Runs statements on a database. The text of each is made on its first use. */
export function statementsOf(
  db: Kysely<LedgerDatabase>,
  { CompiledQuery }: typeof KyselyModule,
  dialect: SqlDialect,
): RunStatement {
  const texts = new Map<Statement, string>()
  return async (statement, parameters, connection = db) => {
    const text = texts.get(statement) ?? statement(dialect)
    texts.set(statement, text)
    const { rows } = await connection.executeQuery(CompiledQuery.raw(text, [...parameters]))
    return rows
  }
}

/**
 * The rows of a statement, as its JSON parameter, in the order of their ids. Records are changed in that order:
 * two statements that changed the same records in different orders would deadlock.
 */
export function rowsParameter(rows: readonly { readonly record_id: string }[]): string {
  return JSON.stringify(rows.toSorted((one, other) => (one.record_id < other.record_id ? -1 : 1)))
}

export function idsOf(rows: readonly unknown[]): ReadonlySet<string> {
  return new Set((rows as readonly { readonly id: string }[]).map(({ id }) => id))
}
