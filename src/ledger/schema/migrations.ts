import type { MigrationContext } from './migration-context.js'
import { createTables } from './tables.js'
import { createWebhookTrigger } from './webhook-trigger.js'

/** One change of the schema. */
type Migration = (context: MigrationContext) => Promise<void>

/** Every change of the schema, in order. From version 0.1.0 on, a migration is never edited. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001_tables': async (context) => {
    for (const statement of createTables(context.dialect)) await context.run(statement)
    await createWebhookTrigger(context)
  },
}
