/** Who uses the admin API. */
import { timingSafeEqual } from 'node:crypto'
import type { Response } from 'express'
import type { Admin, AdminToken } from '../../core/merchants/access.js'

/** Finds the admin of a token's SHA-256. All are compared, each in constant time. */
export function findAdminByHash(
  tokens: readonly AdminToken[],
  presented: Buffer,
): Admin | undefined {
  let found: Admin | undefined
  for (const { hash, admin } of tokens) if (timingSafeEqual(hash, presented)) found = admin
  return found
}

export function setAdmin(res: Response, admin: Admin): void {
  res.locals['x402Admin'] = admin
}

export function findAdmin(res: Response): Admin | undefined {
  return res.locals['x402Admin'] as Admin | undefined
}

export function adminOf(res: Response): Admin {
  const admin = findAdmin(res)
  if (admin !== undefined) return admin
  throw new Error('No admin was authenticated.')
}
