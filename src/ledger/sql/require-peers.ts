import { ConfigError } from '../../errors.js'
import { loadPeer } from '../../crypto/load-peer.cjs'

/**
 * Loads the optional packages that only SQL ledgers need.
 *
 * @param names - The packages, e.g. the query builder and the driver.
 * @param load - Loads a package, or throws as `require` does.
 * @throws {@link ConfigError} that names every package to install.
 */
export function requirePeers(
  names: readonly string[],
  load: (name: string) => unknown = loadPeer,
): readonly unknown[] {
  const missing: string[] = []
  const peers = names.map((name) => {
    try {
      return load(name)
    } catch (error) {
      if (!isMissing(error, name)) throw error
      missing.push(name)
      return undefined
    }
  })
  if (missing.length === 0) return peers
  const packages = missing.map((name) => `'${name}'`).join(' and ')
  throw new ConfigError(
    'ledger',
    `needs ${packages}, which ${missing.length > 1 ? 'are' : 'is'} not installed: npm install ${missing.join(' ')}`,
    'missing_package',
  )
}

/** Tells a missing package from an installed one that misses something itself. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'MODULE_NOT_FOUND' && message.includes(`'${name}'`)
}
