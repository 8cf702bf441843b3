// Builds the page of the console: one script and one style sheet.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writePage } from './build-page.mjs'
import { bundleScript, joinStyles, licensesOf } from './bundle-page.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'src/pages/console')

/** Writes the page into a folder. */
export async function buildConsole(folder) {
  const styles = (await readdir(join(source, 'styles'))).toSorted()
  const page = {
    html: await readFile(join(source, 'index.html'), 'utf8'),
    assets: {
      'console.js': await bundleScript(source),
      'console.css': await joinStyles([
        join(root, 'node_modules/uplot/dist/uPlot.min.css'),
        ...styles.map((file) => join(source, 'styles', file)),
      ]),
      'icon.svg': await readFile(join(source, 'icon.svg'), 'utf8'),
    },
    licenses: await licensesOf(['preact', 'uplot', 'lean-qr']),
  }
  await writePage(page, folder)
}
