// Builds a page for the browser: one script and one style sheet, whose names tell their content, and
// the HTML that loads them. Rolldown reads TSX by itself, as it builds the library: there is no second
// bundler to keep.
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Writes a page into a folder.
 *
 * @param page.name - Names the script and the style sheet, as its `index.html` does.
 * @param page.source - Folder with `index.html`, `main.tsx`, `tsconfig.json` and `styles/`, below the root.
 * @param page.icon - The icon, if it is not in that folder.
 * @param page.styles - Style sheets that come before its own.
 * @param page.packages - Packages of which it contains code.
 */
export async function buildPage({ name, source, icon, styles = [], packages }, folder) {
  const page = join(root, source)
  const assets = join(folder, 'assets')
  await mkdir(assets, { recursive: true })
  const picture = await readFile(join(root, icon ?? join(source, 'icon.svg')), 'utf8')
  const names = {
    [`${name}.js`]: await writeScript(page, name, assets),
    [`${name}.css`]: await writeAsset(assets, `${name}.css`, await styleSheet(page, styles)),
    'icon.svg': await writeAsset(assets, 'icon.svg', picture),
  }
  let html = await readFile(join(page, 'index.html'), 'utf8')
  for (const [plain, hashed] of Object.entries(names))
    html = html.replace(`./assets/${plain}`, `./assets/${hashed}`)
  await writeFile(join(folder, 'index.html'), html)
  await writeFile(join(folder, 'licenses.txt'), await licenses(packages))
}

/** The terms of what is bundled go where it goes. */
async function licenses(packages) {
  const texts = packages.map(async (name) => {
    const text = await readFile(join(root, 'node_modules', name, 'LICENSE'), 'utf8')
    return `${name}\n\n${text.trim()}\n`
  })
  return (await Promise.all(texts)).join('\n')
}

async function writeScript(page, name, dir) {
  const { output } = await build({
    input: { [name]: join(page, 'main.tsx') },
    platform: 'browser',
    tsconfig: join(page, 'tsconfig.json'),
    transform: { target: 'es2022' },
    output: { dir, format: 'esm', minify: true, entryFileNames: '[name]-[hash].js' },
  })
  return output[0].fileName
}

/** The style sheets one after the other, without comments and indentation. */
async function styleSheet(page, before) {
  const own = (await readdir(join(page, 'styles'))).toSorted()
  const files = [
    ...before.map((file) => join(root, file)),
    ...own.map((file) => join(page, 'styles', file)),
  ]
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  return texts
    .join('\n')
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s*\n\s*/g, '\n')
}

async function writeAsset(assets, name, content) {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 10)
  const hashed = name.replace('.', `-${hash}.`)
  await writeFile(join(assets, hashed), content)
  return hashed
}
