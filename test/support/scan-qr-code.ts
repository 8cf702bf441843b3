import { createRequire } from 'node:module'
import type jsQr from 'jsqr'
import type { Browser, Locator } from 'playwright-core'

const readQrCode = createRequire(import.meta.url)('jsqr') as typeof jsQr.default

/** Reads a QR code off the screen. */
export async function scanQrCode(browser: Browser, code: Locator): Promise<string | undefined> {
  const picture = (await code.screenshot()).toString('base64')
  const page = await browser.newPage()
  const { width, height, data } = await page.evaluate<Picture>(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${picture}'
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.width
    canvas.height = image.height
    const context = canvas.getContext('2d')
    context.drawImage(image, 0, 0)
    const pixels = context.getImageData(0, 0, image.width, image.height)
    const data = btoa(Array.from(pixels.data, (byte) => String.fromCodePoint(byte)).join(''))
    return { width: image.width, height: image.height, data }
  })()`)
  await page.close()
  return readQrCode(Uint8ClampedArray.from(Buffer.from(data, 'base64')), width, height)?.data
}

interface Picture {
  readonly width: number
  readonly height: number
  /** RGBA, as base64. */
  readonly data: string
}
