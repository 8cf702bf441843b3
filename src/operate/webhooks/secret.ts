import { world } from '../../shared/world.js'

/** Secrets that webhooks are signed with, in the form of Standard Webhooks. */

const PREFIX = 'whsec_'

/** Size of a secret in bytes. The specification allows 24 to 64. */
const BYTES = 32
const LEAST_BYTES = 24
const MOST_BYTES = 64

export function createWebhookSecret(): string {
  return PREFIX + world.randomBytes(BYTES).toString('base64')
}

/** A secret is `whsec_` and 24 to 64 bytes in base64. */
export function isWebhookSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false
  const base64 = text.slice(PREFIX.length)
  const bytes = Buffer.from(base64, 'base64')
  // Node skips what is not base64, and the package that signs throws.
  if (bytes.toString('base64') !== base64) return false
  return bytes.length >= LEAST_BYTES && bytes.length <= MOST_BYTES
}
