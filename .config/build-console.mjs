// Builds the page of the console.
import { buildPage } from './build-page.mjs'

/** Writes the page into a folder. */
export async function buildConsole(folder) {
  await buildPage(
    {
      name: 'console',
      source: 'src/console/page',
      styles: ['node_modules/uplot/dist/uPlot.min.css'],
      packages: ['preact', 'uplot'],
    },
    folder,
  )
}
