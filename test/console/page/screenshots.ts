/** Takes a picture of each page of the console, from a real gateway. `npm run screenshots -- FOLDER` */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ADMIN_TOKEN, openWorld } from './world.js'
import { findChromium, launch, openTab, signIn, visit } from './browser.js'
import { fillWorld } from './fill-world.js'

const folder = process.argv[2] ?? 'screenshots'
const executable = findChromium()
if (executable === undefined) throw new Error('There is no Chromium on this machine.')
await mkdir(folder, { recursive: true })

const world = await openWorld()
const browser = await launch(executable)
try {
  const pages = await fillWorld(world)
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 360]) {
      const { page, context, complaints } = await openTab(browser, {
        ...{ colorScheme, width, height: width === 360 ? 740 : 860 },
      })
      const take = (name: string): Promise<Buffer> =>
        page.screenshot({
          path: join(folder, `${name}-${colorScheme}-${width}.png`),
          fullPage: true,
        })
      await page.goto(world.console)
      await page.getByLabel('Token').waitFor()
      await take('sign-in')
      await signIn(page, world.console, ADMIN_TOKEN)
      for (const [name, view] of Object.entries(pages)) {
        await visit(page, view)
        await take(name)
      }
      process.stdout.write(complaints.map((one) => `${one}\n`).join(''))
      await context.close()
    }
} finally {
  await browser.close()
  await world.close()
}
