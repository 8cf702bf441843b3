// An import by name would fail in an older Node before `check-node` can say why.
import crypto from 'node:crypto'

export type HashEncoding = 'hex' | 'base64url'

/** SHA-256 of a text in UTF-8, in half the time of `createHash` for short texts. */
export function sha256(text: string, encoding: HashEncoding): string {
  return crypto.hash('sha256', text, encoding)
}
