import { ConfigError } from '../../errors.js'
import { loadPeer } from '../../crypto/load-peer.cjs'

/**
 * Loads packages that only SQL ledgers need.
 *
 * @param names - The package that makes the ledger, and its driver.
 * @param load - Finds a package, or throws as `require` does.
 * @throws {@link ConfigError} naming every package to install.
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
  )
}

/** Tells that a package is missing from that something inside an installed one is. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'MODULE_NOT_FOUND' && message.includes(`'${name}'`)
}
