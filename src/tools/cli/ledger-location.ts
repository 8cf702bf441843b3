import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { OpenedConfig } from '../../gateway/config/read/config-file.js'
import {
  databaseVariable,
  SERVE_DATABASE,
  type Environment,
} from '../../gateway/config/read/variables.js'
import { ConfigError, isConfigError, isLedgerError } from '../../shared/errors.js'
import { explainFailure, failureKind } from '../../ledger/engine/explain-failure.js'
import { readLocation, type LedgerLocation } from '../../ledger/engine/location.js'

/** Default ledger, relative to the configuration file. */
const LEDGER_FILE = join('data', 'ledger.db')

export interface NamedLedger {
  readonly location: LedgerLocation
  readonly option: string
  /** The file of a ledger next to the configuration that is not used. */
  readonly unused?: string | undefined
}

/**
 * Finds the ledger that `serve` uses.
 *
 * @param ledger - The flag `--ledger`.
 * @param cwd - The working directory.
 * @throws {@link ConfigError} if there is a ledger in the working directory but none next to the
 * configuration: a new, empty one would honour payments a second time.
 */
export function ledgerLocation(
  { env, folder }: Pick<OpenedConfig, 'env' | 'folder'>,
  { ledger, cwd }: { readonly ledger?: string | undefined; readonly cwd: string },
): NamedLedger {
  if (ledger !== undefined)
    return { location: locationOf('ledger', ledger, folder), option: 'ledger' }
  const variable = databaseVariable(env, SERVE_DATABASE)
  const file = join(folder, LEDGER_FILE)
  if (variable !== undefined) {
    const location = readLocation(env[variable]?.trim() ?? '', folder, variable)
    const isUsed = 'file' in location && location.file === file
    return { location, option: variable, unused: !isUsed && existsSync(file) ? file : undefined }
  }
  const other = join(cwd, LEDGER_FILE)
  if (other === file || existsSync(file) || !existsSync(other))
    return { location: { file }, option: 'ledger' }
  throw new ConfigError(
    'ledger',
    `${file} does not exist, but ${other} does: choose one with --ledger`,
    'unusable_ledger',
  )
}

/** Reads a flag that names a ledger: a path, or a URL. A mistyped URL is no path, where an empty ledger would begin. */
export function locationOf(option: string, text: string, folder: string): LedgerLocation {
  const isUrl = /^(?:\w+:\/\/|(?:postgres(?:ql)?|sqlite):)/.test(text)
  return isUrl ? readLocation(text, folder, option) : { file: resolve(folder, text) }
}

/**
 * Works on the database of a ledger.
 *
 * @throws {@link ConfigError} for its failures, with the option and the cause, and without a password.
 */
export async function explained<Result>(
  { location, option }: NamedLedger,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof TypeError) throw error
    if (isConfigError(error))
      throw new ConfigError(error.issues.map((issue) => ({ ...issue, option })))
    const kind = isLedgerError(error) ? (error.cause as Error).message : failureKind(error)
    throw new ConfigError(option, explainFailure(kind, location), 'unusable_ledger')
  }
}

/** Tells operators of a ledger that they may have meant to move. */
export function describeUnused(file: string): string {
  return (
    `${file} is another ledger, whose payments, projects and tokens are not used. ` +
    'To move them here, run express-x402-gateway ledger copy (see its --help); then move the file away.'
  )
}

export function withoutDatabase(env: Environment): Environment {
  return { ...env, ...Object.fromEntries(SERVE_DATABASE.map((name) => [name, undefined])) }
}
