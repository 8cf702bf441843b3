// Builds a page for the browser: one script and one style sheet, whose names tell their content, and
// the HTML that loads them.
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleScript, joinStyles, licensesOf } from './bundle-page.mjs'

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
    [`${name}.js`]: await writeAsset(assets, `${name}.js`, await bundleScript(page)),
    [`${name}.css`]: await writeAsset(assets, `${name}.css`, await styleSheet(page, styles)),
    'icon.svg': await writeAsset(assets, 'icon.svg', picture),
  }
  let html = await readFile(join(page, 'index.html'), 'utf8')
  for (const [plain, hashed] of Object.entries(names))
    html = html.replace(`./assets/${plain}`, `./assets/${hashed}`)
  await writeFile(join(folder, 'index.html'), html)
  await writeFile(join(folder, 'licenses.txt'), await licensesOf(packages))
}

async function styleSheet(page, before) {
  const own = (await readdir(join(page, 'styles'))).toSorted()
  return joinStyles([
    ...before.map((file) => join(root, file)),
    ...own.map((file) => join(page, 'styles', file)),
  ])
}

async function writeAsset(assets, name, content) {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 10)
  const hashed = name.replace('.', `-${hash}.`)
  await writeFile(join(assets, hashed), content)
  return hashed
}
