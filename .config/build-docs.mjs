// Builds the page of the API's documentation: RapiDoc, as it is published, and the few lines that open
// the gateway's document in it. The published bundle is whole: package.json replaces the one
// dependency that would bring a hundred packages, some with install scripts.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writePage } from './build-page.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file) => readFile(join(root, file), 'utf8')

/** Writes the page into a folder. */
export async function buildDocs(folder) {
  const source = 'src/pages/docs'
  const viewer = 'node_modules/rapidoc'
  const bundled = await read(`${viewer}/dist/rapidoc-min.js.LICENSE.txt`)
  const page = {
    html: await read(`${source}/index.html`),
    assets: {
      'rapidoc.js': await read(`${viewer}/dist/rapidoc-min.js`),
      'docs.js': await read(`${source}/docs.js`),
      'docs.css': await read(`${source}/docs.css`),
      'icon.svg': await read('src/pages/console/icon.svg'),
    },
    licenses: `rapidoc\n\n${await read(`${viewer}/LICENSE.txt`)}\n${bundled}`,
  }
  await writePage(page, folder)
}
