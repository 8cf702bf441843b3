/**
 * Loads an optional package, from where this package is installed.
 *
 * CommonJS in both builds: `require` loads synchronously, or throws when the package is missing.
 */
export function loadPeer(name: string): unknown {
  // Bundlers include what is required by a literal.
  if (name === '@noble/curves/secp256k1') return require('@noble/curves/secp256k1')
  return name === 'kysely' ? require('kysely') : require(name)
}
