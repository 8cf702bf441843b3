import { existsSync } from 'node:fs'
import { openConfig, type ConfigSource } from '../../gateway/config/read/config-file.js'
import { resolveOptions } from '../../gateway/config/resolve/resolve-options.js'
import type { LedgerStore } from '../../ledger/index.js'
import { createMemoryLedger } from '../../ledger/memory-ledger.js'
import { openPostgresLedger } from '../../ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../ledger/sqlite-ledger.js'
import {
  describeUnused,
  explained,
  ledgerLocation,
  withoutDatabase,
  type NamedLedger,
} from './ledger-location.js'

export interface OptionsSource extends ConfigSource {
  /** SQLite file, relative to the configuration, or a URL. */
  readonly ledger: string | undefined
  readonly memory?: boolean
  /** Whether to create an SQLite ledger that is not there, rather than use memory. */
  readonly creates: boolean
  /** Called with what prevents nothing. */
  readonly warn: (message: string) => void
}

/**
 * Reads the options that `serve` runs a gateway with, and opens the ledger.
 *
 * @returns Also where the ledger is (`named`); `undefined` for memory.
 * @throws {@link ConfigError}
 */
export async function openOptions(source: OptionsSource) {
  const { cwd, memory = false, ledger: file, creates, warn } = source
  const opened = await openConfig(source)
  opened.warnings.forEach(warn)
  const env = memory || file !== undefined ? withoutDatabase(opened.env) : opened.env
  const named = memory ? undefined : ledgerLocation({ ...opened, env }, { ledger: file, cwd })
  if (named?.unused !== undefined) warn(describeUnused(named.unused))
  const options = opened.with(resolveOptions, env)
  const open = async (): Promise<LedgerStore> => {
    const ledger = options.ledger ?? openLedger(named, creates)
    await ledger.payments.listSubmitted().catch(async (error: unknown) => {
      await ledger.close()
      throw error
    })
    return ledger
  }
  const ledger = named === undefined ? await open() : await explained(named, open)
  return { opened, named, resolved: { ...options, ledger } }
}

function openLedger(named: NamedLedger | undefined, creates: boolean): LedgerStore {
  if (named === undefined) return createMemoryLedger()
  const { location, option } = named
  if ('url' in location) return openPostgresLedger(location.url, { option })
  return creates || existsSync(location.file)
    ? openSqliteLedger(location.file)
    : createMemoryLedger()
}
