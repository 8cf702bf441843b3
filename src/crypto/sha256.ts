import { hash } from 'node:crypto'

export type HashEncoding = 'hex' | 'base64url'

/** SHA-256 of a text in UTF-8, in half the time of `createHash` for short texts. */
export function sha256(text: string, encoding: HashEncoding): string {
  return hash('sha256', text, encoding)
}
