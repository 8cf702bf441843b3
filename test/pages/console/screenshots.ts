/** Takes a picture of each page of the console and of the paywall, from a real gateway. `npm run screenshots -- FOLDER` */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ledger, LedgerStore } from '../../../src/ledger/index.js'
import { sqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { writeHistory } from './history.js'
import { ADMIN_TOKEN, CREATED, openWorld, SHOP_TOKEN } from './world.js'
import { findChromium, launch, openTab } from '../../support/browser.js'
import { signIn, visit } from './browser.js'
import { takePaywall } from '../paywall/screenshots.js'
import { fillWorld } from './fill-world.js'

/** The pictures of the documentation: cut at a height, and made smaller. */
const DOCS_PICTURES = {
  overview: { of: 'overview-light-1280.png', height: 1345, scale: 0.75 },
  settlement: { of: 'settlement-light-1280.png', height: 1348, scale: 0.703 },
  phone: { of: 'settlements-dark-360.png', height: 950, scale: 1 },
} as const

const folder = process.argv[2] ?? 'screenshots'
const executable = findChromium()
if (executable === undefined) throw new Error('There is no Chromium on this machine.')
await mkdir(folder, { recursive: true })

let file = ''
let ledger: Ledger | undefined
const world = await openWorld({
  openLedger: (own) => {
    file = join(own, 'ledger.db')
    return (ledger = sqliteLedger(file))
  },
})
const browser = await launch(executable)
try {
  await takePaywall(browser, folder)
  const pages = await fillWorld(world)
  await writeHistory(file, ledger as LedgerStore, {
    asset: world.devnet.asset,
    project: CREATED,
    payTo: world.devnet.merchant.address.toLowerCase(),
  })
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
      await context.clearCookies()
      await page.goto('about:blank')
      await signIn(page, world.console, SHOP_TOKEN)
      await visit(page, ['#/settings', 'Settings'])
      await take('settings')
      await context.close()
    }
  for (const [name, picture] of Object.entries(DOCS_PICTURES))
    await writeFile(join(folder, `console-${name}.webp`), await cut(picture))
} finally {
  await browser.close()
  await world.close()
}

/** Cuts a picture, as WebP. */
async function cut({
  of,
  height,
  scale,
}: (typeof DOCS_PICTURES)[keyof typeof DOCS_PICTURES]): Promise<Buffer> {
  const png = await readFile(join(folder, of), 'base64')
  const page = await browser.newPage()
  const webp = await page.evaluate<string>(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${png}'
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = Math.round(image.width * ${scale})
    canvas.height = Math.round(Math.min(image.height, ${height}) * ${scale})
    const context = canvas.getContext('2d')
    context.imageSmoothingQuality = 'high'
    context.drawImage(image, 0, 0, canvas.width, image.height * ${scale})
    return canvas.toDataURL('image/webp', 0.8).split(',')[1]
  })()`)
  await page.close()
  return Buffer.from(webp, 'base64')
}
