/** Takes pictures of the paywall, from a real shop. `npm run screenshots -- FOLDER` */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { openBuyer, openWorld, PAY } from './world.js'

/** Takes the page as a desktop and a phone show it, each as a PNG. */
export async function takePaywall(browser: Browser, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const world = await openWorld({ paywall: { name: 'The Daily Example', accent: '#0b5d4d' } })
  try {
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [900, 360]) {
        const isPhone = width === 360
        const { page, context } = await openBuyer(world, browser, {
          ...{ colorScheme, width, height: 760, isPhone },
        })
        await page.goto(`${world.url}/buy/article`)
        await page.getByRole('button', { name: PAY }).waitFor()
        const path = join(folder, `paywall-${colorScheme}-${width}.png`)
        await page.screenshot({ path, fullPage: isPhone })
        await context.close()
      }
    await writeFile(join(folder, 'paywall.webp'), await joinPictures(browser, folder))
  } finally {
    await world.close()
  }
}

/** The desktop in light and the phone in dark, side by side, as the documentation shows them. */
async function joinPictures(browser: Browser, folder: string): Promise<Buffer> {
  const names = ['paywall-light-900.png', 'paywall-dark-360.png']
  const pictures = await Promise.all(names.map((name) => readFile(join(folder, name), 'base64')))
  const page = await browser.newPage()
  const webp = await page.evaluate<string>(`(async () => {
    const images = await Promise.all(${JSON.stringify(pictures)}.map(async (base64) => {
      const image = new Image()
      image.src = 'data:image/png;base64,' + base64
      await image.decode()
      return image
    }))
    const canvas = document.createElement('canvas')
    canvas.width = images.reduce((width, image) => width + image.width, 0)
    canvas.height = Math.max(...images.map(({ height }) => height))
    const context = canvas.getContext('2d')
    context.fillStyle = '#f4f5f7'
    context.fillRect(0, 0, canvas.width, canvas.height)
    let left = 0
    for (const image of images) {
      context.drawImage(image, left, 0)
      left += image.width
    }
    return canvas.toDataURL('image/webp', 0.8).split(',')[1]
  })()`)
  await page.close()
  return Buffer.from(webp, 'base64')
}
