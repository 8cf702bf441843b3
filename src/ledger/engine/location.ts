import { resolve } from 'node:path'
import { ConfigError } from '../../shared/errors.js'

/** A `postgres://` URL, or the path of an SQLite file. */
export type LedgerLocation = { readonly url: string } | { readonly file: string }

const SQLITE = /^sqlite:(?:\/\/)?/

/**
 * Reads the URL of a ledger's database: `sqlite:` and a path, or `postgres://…`, which is not checked here.
 *
 * A path alone is no URL: a mistyped `postgres:/…` would otherwise open a new, empty ledger.
 *
 * @param folder - What paths are relative to.
 * @param option - The variable or option that holds the URL, for the error.
 * @throws `ConfigError` (`invalid_url`) for an SQLite database that is no file.
 */
export function readLocation(url: string, folder: string, option: string): LedgerLocation {
  if (!SQLITE.test(url)) return { url }
  const path = url.replace(SQLITE, '')
  if (path !== '' && !/^:|[?#]/.test(path)) return { file: resolve(folder, path) }
  throw new ConfigError(
    option,
    'must name a file without parameters, like sqlite:./data/ledger.db',
    'invalid_url',
  )
}
