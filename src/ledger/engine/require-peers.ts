import { join } from 'node:path'
import { ConfigError } from '../../shared/errors.js'
import { loadPeer } from '../../shared/crypto/load-peer.cjs'

/**
 * Loads optional packages.
 *
 * @param names - The packages, e.g. the query builder and the driver.
 * @param load - Loads a package, or throws as `require` does. @defaultValue {@link loadInstalled}
 * @param option - The option that needs them, for the error.
 * @throws {@link ConfigError} that names every package to install.
 */
export function requirePeers(
  names: readonly string[],
  load: (name: string) => unknown = loadInstalled,
  option = 'ledger',
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
    option,
    `needs ${packages}, which ${missing.length > 1 ? 'are' : 'is'} not installed: ${installing(missing)}`,
    'missing_package',
  )
}

export function installing(names: readonly string[]): string {
  return `npm install ${names.join(' ')}`
}

/**
 * Loads a package from where this one is installed, else from the working directory.
 *
 * `npx` keeps this package in a cache of its own, and `npm install` adds to the working directory.
 */
export function loadInstalled(name: string): unknown {
  try {
    return loadPeer(name)
  } catch (error) {
    if (!isMissing(error, name)) throw error
    // Webpack replaces a `createRequire` that is imported with `undefined`.
    const { createRequire } = process.getBuiltinModule('node:module')
    return createRequire(join(process.cwd(), 'package.json'))(name)
  }
}

/** Tells a missing package from an installed one that misses something itself. */
export function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'MODULE_NOT_FOUND' && message.includes(`'${name}'`)
}
