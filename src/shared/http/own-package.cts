/**
 * Location of this package. CommonJS in both builds, because of `__dirname`.
 */
import fs = require('node:fs')
import path = require('node:path')

const NAME = 'express-x402-gateway'

/** Folder and version of this package; neither in a bundle. */
export const ownPackage: { readonly folder?: string; readonly version?: string } =
  typeof __dirname === 'string' ? findFrom(__dirname) : {}

// The build puts a package.json without a name next to its files.
function findFrom(folder: string): typeof ownPackage {
  const { name, version } = readManifest(path.join(folder, 'package.json'))
  if (name === NAME) return { folder, ...(version !== undefined && { version }) }
  const parent = path.dirname(folder)
  return parent === folder ? {} : findFrom(parent)
}

function readManifest(file: string): { readonly name?: string; readonly version?: string } {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as ReturnType<typeof readManifest>
  } catch {
    return {}
  }
}
