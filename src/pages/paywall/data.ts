import type { PageData } from '../../sell/paywall/page-data.js'

const loadedAt = Date.now()

export const data = JSON.parse(document.querySelector('#x402')?.textContent ?? '') as PageData

/** The server's clock (s): signatures do not depend on the device's clock. */
export function serverNow(): number {
  return data.now + Math.floor((Date.now() - loadedAt) / 1000)
}
