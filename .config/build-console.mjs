// Builds the page of the console: one script and one style sheet, whose names tell their content, and
// the page that loads them.
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleScript, joinStyles, licensesOf } from './bundle-page.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = join(root, 'src/console/page')

/** Packages of which the page contains code. */
const BUNDLED = ['preact', 'uplot']

/** Writes the page into a folder. */
export async function buildConsole(folder) {
  const assets = join(folder, 'assets')
  await mkdir(assets, { recursive: true })
  const names = {
    'console.js': await writeAsset(assets, 'console.js', await bundleScript(page)),
    'console.css': await writeAsset(assets, 'console.css', await styles()),
    'icon.svg': await writeAsset(
      assets,
      'icon.svg',
      await readFile(join(page, 'icon.svg'), 'utf8'),
    ),
  }
  let html = await readFile(join(page, 'index.html'), 'utf8')
  for (const [name, hashed] of Object.entries(names))
    html = html.replace(`./assets/${name}`, `./assets/${hashed}`)
  await writeFile(join(folder, 'index.html'), html)
  await writeFile(join(folder, 'licenses.txt'), await licensesOf(BUNDLED))
}

async function styles() {
  const names = (await readdir(join(page, 'styles'))).toSorted()
  return joinStyles([
    join(root, 'node_modules/uplot/dist/uPlot.min.css'),
    ...names.map((name) => join(page, 'styles', name)),
  ])
}

async function writeAsset(assets, name, content) {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 10)
  const hashed = name.replace('.', `-${hash}.`)
  await writeFile(join(assets, hashed), content)
  return hashed
}
