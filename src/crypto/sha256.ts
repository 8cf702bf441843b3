import * as crypto from 'node:crypto'

export type HashEncoding = 'hex' | 'base64url'

/** Takes half the time for short texts. Node 20.12 and newer. */
const hashAtOnce = (crypto as Partial<typeof crypto>).hash

/** SHA-256 of a text in UTF-8. */
export function sha256(text: string, encoding: HashEncoding): string {
  return (
    hashAtOnce?.('sha256', text, encoding) ??
    crypto.createHash('sha256').update(text).digest(encoding)
  )
}
