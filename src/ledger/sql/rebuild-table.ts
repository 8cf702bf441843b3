import type * as KyselyModule from 'kysely'
import type { Kysely } from 'kysely'
import type { LedgerDatabase } from './schema.js'

/** What a table of SQLite becomes. */
interface Rebuilt {
  /** Changes the statement that creates the table. */
  readonly edit: (statement: string) => string
  /** What is copied into a column. @defaultValue the column as it is */
  readonly read?: (column: string) => string
  /** A trigger that is not created again. */
  readonly without?: string
}

/** Copies a table of SQLite into one that was created differently, with its indexes and triggers. */
export async function rebuildTable(
  { db, sql }: { readonly db: Kysely<LedgerDatabase>; readonly sql: typeof KyselyModule.sql },
  name: string,
  { edit, read = (column) => column, without }: Rebuilt,
): Promise<void> {
  const run = (statement: string): Promise<unknown> => sql.raw(statement).execute(db)
  const { rows } = await sql<{ name: string; type: string; sql: string }>`
    SELECT name, type, sql FROM sqlite_schema WHERE tbl_name = ${name} AND sql IS NOT NULL`.execute(
    db,
  )
  const { rows: columns } = await sql<{ name: string }>`
    SELECT name FROM pragma_table_info(${name})`.execute(db)
  const table = rows.find(({ type }) => type === 'table')?.sql ?? ''
  await run(edit(table).replace(name, `${name}_copy`))
  const copied = columns.map((column) => read(column.name)).join(', ')
  await run(`INSERT INTO ${name}_copy SELECT ${copied} FROM ${name}`)
  // Its indexes and triggers go with it.
  await run(`DROP TABLE ${name}`)
  // Otherwise a view that reads the table makes the change fail, because there is none now.
  await run('PRAGMA legacy_alter_table = ON')
  try {
    await run(`ALTER TABLE ${name}_copy RENAME TO ${name}`)
  } finally {
    await run('PRAGMA legacy_alter_table = OFF')
  }
  for (const one of rows) if (one.type !== 'table' && one.name !== without) await run(one.sql)
}
