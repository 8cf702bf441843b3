/**
 * Loads a package that only some users need, from where this package is installed.
 *
 * CommonJS in both builds: `require` finds the package at once, or says at once that it is missing.
 */
export function loadPeer(name: string): unknown {
  return require(name)
}
