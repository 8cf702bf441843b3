// Writes a page for the browser: its assets, whose names tell their content, and the HTML that loads
// them.
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Writes a page into a folder.
 *
 * @param page.html - Loads each asset as `./assets/<name>`.
 * @param page.assets - Contents, by name.
 * @param page.licenses - The terms of the packages of which it contains code.
 */
export async function writePage({ html, assets, licenses }, folder) {
  await mkdir(join(folder, 'assets'), { recursive: true })
  let page = html
  for (const [name, content] of Object.entries(assets)) {
    const hash = createHash('sha256').update(content).digest('base64url').slice(0, 10)
    const hashed = name.replace('.', `-${hash}.`)
    await writeFile(join(folder, 'assets', hashed), content)
    page = page.replace(`./assets/${name}`, `./assets/${hashed}`)
  }
  await writeFile(join(folder, 'index.html'), page)
  await writeFile(join(folder, 'licenses.txt'), licenses)
}
