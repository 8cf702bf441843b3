// Builds the page of the console: one script and one style sheet, whose names tell their content, and
// the page that loads them. Rolldown reads TSX by itself, as it builds the library: there is no second
// bundler to keep.
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = join(root, 'src/console/page')

/** Packages of which the page contains code. */
const BUNDLED = ['preact', 'uplot']

/** Writes the page into a folder. */
export async function buildConsole(folder) {
  const assets = join(folder, 'assets')
  await mkdir(assets, { recursive: true })
  const names = {
    'console.js': await writeScript(assets),
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
  await writeFile(join(folder, 'licenses.txt'), await licenses())
}

/** The terms of what is bundled go where it goes. */
async function licenses() {
  const texts = BUNDLED.map(async (name) => {
    const text = await readFile(join(root, 'node_modules', name, 'LICENSE'), 'utf8')
    return `${name}\n\n${text.trim()}\n`
  })
  return (await Promise.all(texts)).join('\n')
}

async function writeScript(dir) {
  const { output } = await build({
    input: { console: join(page, 'main.tsx') },
    platform: 'browser',
    tsconfig: join(page, 'tsconfig.json'),
    transform: { target: 'es2022' },
    output: { dir, format: 'esm', minify: true, entryFileNames: '[name]-[hash].js' },
  })
  return output[0].fileName
}

/** The style sheets one after the other, without comments and indentation. */
async function styles() {
  const names = (await readdir(join(page, 'styles'))).toSorted()
  const files = [
    join(root, 'node_modules/uplot/dist/uPlot.min.css'),
    ...names.map((name) => join(page, 'styles', name)),
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
