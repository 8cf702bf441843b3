import { createHash } from 'node:crypto'
import { world } from '../world.js'

/** A token's SHA-256 in the configuration. */
const HASHED = /^sha256:(.*)$/i

const SHA256_HEX = /^[0-9a-f]{64}$/i

/** Shortest token in plain text (characters). */
export const MIN_TOKEN_LENGTH = 16

/** Creates an identify token of 256 random bits. */
export function createToken(): string {
  return `x402_${world.randomBytes(32).toString('base64url')}`
}

export function hashToken(token: string): string {
  return `sha256:${digestToken(token).toString('hex')}`
}

/**
 * Parses a configured token, hashed or in plain text.
 *
 * @returns Its SHA-256; `undefined` for an invalid hash, and for a token that is too short.
 */
export function parseConfiguredToken(text: string): Buffer | undefined {
  const hash = HASHED.exec(text)?.[1]
  if (hash !== undefined) return SHA256_HEX.test(hash) ? Buffer.from(hash, 'hex') : undefined
  return text.length < MIN_TOKEN_LENGTH ? undefined : digestToken(text)
}

/** Tokens are compared by their SHA-256. */
export function digestToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
