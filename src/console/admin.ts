/** Who uses the admin API. */
import type { Response } from 'express'

/** Hexadecimal digits by which the audit log names an admin token. */
const NAME_DIGITS = 8

/** Someone with an admin token. */
export interface Admin {
  /** What the audit log calls the admin: the beginning of the SHA-256 of the token. */
  readonly name: string
}

/** The admin of a token, by the SHA-256 of the token. */
export function adminOfHash(hash: Buffer): Admin {
  return { name: `admin-${hash.toString('hex').slice(0, NAME_DIGITS)}` }
}

/** Says which admin sends a request. */
export function setAdmin(res: Response, admin: Admin): void {
  res.locals['x402Admin'] = admin
}

/** The admin of a request; `undefined` for anyone else. */
export function findAdmin(res: Response): Admin | undefined {
  return res.locals['x402Admin'] as Admin | undefined
}

/** The admin of an authenticated request. */
export function adminOf(res: Response): Admin {
  const admin = findAdmin(res)
  if (admin !== undefined) return admin
  throw new Error('No admin was authenticated.')
}
