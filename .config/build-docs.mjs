// Builds the page of the API's documentation. It looks as the console does.
import { buildPage } from './build-page.mjs'

/** Writes the page into a folder. */
export async function buildDocs(folder) {
  await buildPage(
    {
      name: 'docs',
      source: 'src/router/docs/page',
      icon: 'src/console/page/icon.svg',
      styles: ['src/console/page/styles/base.css', 'src/console/page/styles/parts.css'],
      packages: ['preact'],
    },
    folder,
  )
}
