import type { MigrationContext } from './migration.js'

/** What a table of SQLite becomes. */
interface Rebuilt {
  /** Changes the statement that creates the table. */
  readonly edit: (statement: string) => string
  /** What is copied into a column. @defaultValue the column as it is */
  readonly read?: (column: string) => string
  /** A trigger that is not created again. */
  readonly without?: string
}

/**
 * Copies a table of SQLite into one that was created differently, with its indexes and triggers.
 *
 * @param name - Is written into the statements as it is: a constant.
 */
export async function rebuildTable(
  run: MigrationContext['run'],
  name: string,
  { edit, read = (column) => column, without }: Rebuilt,
): Promise<void> {
  const rows = await run<'name' | 'type' | 'sql'>(`
    SELECT name, type, sql FROM sqlite_schema WHERE tbl_name = '${name}' AND sql IS NOT NULL`)
  const columns = await run<'name'>(`SELECT name FROM pragma_table_info('${name}')`)
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
