/** Who is signed in to the console. */

/** What someone who is signed in may see: everything, or one project. */
export type ConsoleRole = 'admin' | 'merchant'

/** A session of the console. Neither its secret nor its token is kept, only their hashes. */
export interface ConsoleSession {
  /** SHA-256 of the secret in the cookie, in hexadecimal digits. */
  readonly hash: string
  readonly role: ConsoleRole
  /** SHA-256 of the token that it was opened with, in hexadecimal digits. It ends with this token. */
  readonly token: string
  /** Id of the merchant's project. */
  readonly project?: string | undefined
  /** Milliseconds since the epoch, by the clock of the gateway that wrote it; so is `usedAt`. */
  readonly createdAt: number
  /** To the minute. */
  readonly usedAt: number
}

/** Which sessions are over. */
export interface SessionLimits {
  /** Those that were created before, in milliseconds since the epoch. */
  readonly createdBefore: number
  /** Those that were last used before. */
  readonly usedBefore: number
  /** Sessions that one token may have: the least recently used ones beyond that are over. */
  readonly perToken: number
}
