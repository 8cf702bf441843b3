import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NAME = 'express-x402-gateway'

/** The version of this package. */
export async function ownVersion(): Promise<string> {
  // The build puts a package.json without a name beside its files.
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '{}')
    const { name, version } = JSON.parse(text) as { name?: string; version?: string }
    if (name === NAME && version !== undefined) return version
    if (dirname(folder) === folder) return 'unknown'
  }
}
