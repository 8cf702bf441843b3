// Loads TypeScript as `test/support/typescript.mjs` does. For each test file, what belongs to it is loaded anew.
import { load, resolve as resolveTypeScript } from '../../test/support/typescript.mjs'

const root = new URL('../../', import.meta.url)
/** The test kit takes the place of the default gateway when it is loaded. */
const ofFile = ['test/', 'src/tools/testing/'].map((path) => new URL(path, root).href)
/** It compiles the schemas of the whole API, and keeps nothing else. */
const lasting = new URL('test/support/openapi-validator.ts', root).href
const renamed = {
  '@jest/globals': new URL('globals.mjs', import.meta.url).href,
  // The example imports the package by its name, as tsconfig.json has it.
  'express-x402-gateway': new URL('src/index.ts', root).href,
}

export { load }

export async function resolve(specifier, context, nextResolve) {
  const found = renamed[specifier]
    ? { url: renamed[specifier], shortCircuit: true }
    : await resolveTypeScript(specifier, context, nextResolve)
  const { search } = new URL(context.parentURL ?? root)
  const isOfFile = found.url !== lasting && ofFile.some((folder) => found.url.startsWith(folder))
  return search && isOfFile ? { ...found, url: found.url + search } : found
}
