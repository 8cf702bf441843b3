// What the pages of the package are built with. Rolldown reads TSX by itself, as it builds the library:
// there is no second bundler to keep.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Bundles the program of a page. @returns Its code. */
export async function bundleScript(page) {
  const { output } = await build({
    input: join(page, 'main.tsx'),
    platform: 'browser',
    tsconfig: join(page, 'tsconfig.json'),
    transform: { target: 'es2022' },
    output: { format: 'esm', minify: true, comments: false },
    write: false,
  })
  const [{ code, imports }] = output
  if (imports.length > 0) throw new Error(`A browser cannot load ${imports.join(', ')} (${page}).`)
  return code
}

/** Style sheets one after the other, without comments and needless spaces. */
export async function joinStyles(files) {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  return texts
    .join('\n')
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .replaceAll(': ', ':')
}

/** The terms of what is bundled go where it goes. */
export async function licensesOf(packages) {
  const texts = packages.map(async (name) => {
    const text = await readFile(join(root, 'node_modules', name, 'LICENSE'), 'utf8')
    return `${name}\n\n${text.trim()}\n`
  })
  return (await Promise.all(texts)).join('\n')
}
