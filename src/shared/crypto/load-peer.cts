/**
 * Loads an optional package, from where this package is installed.
 *
 * CommonJS in both builds: `require` loads synchronously, or throws when the package is missing.
 */
export function loadPeer(name: string): unknown {
  // Bundlers include what is required by a literal.
  return name === 'kysely' ? require('kysely') : require(name)
}
