import type { PageData } from './page-data.js'

const loadedAt = Date.now()

/** What the server has written into the page. */
export const data = JSON.parse(document.querySelector('#x402')?.textContent ?? '') as PageData

/** The server's clock, in seconds: a wrong clock of the device makes no signature invalid. */
export function serverNow(): number {
  return data.now + Math.floor((Date.now() - loadedAt) / 1000)
}
