import { randomBytes } from 'node:crypto'
import type { LedgerStore } from '../ledger/ledger.js'

/** What the secret is called in a ledger. */
const NAME = 'quote'

/**
 * Finds the secret that quotes are signed with.
 *
 * The gateway's own, or else one that all who share the ledger have in common, or else a random one.
 * It is asked for at the first quote, and again where the ledger was away.
 */
export function quoteSecret(
  configured: string | undefined,
  ledger: Pick<LedgerStore, 'sharedSecret'>,
): () => Promise<string> {
  let secret: Promise<string> | undefined
  const find = async (): Promise<string> =>
    configured ?? (await ledger.sharedSecret?.(NAME)) ?? randomBytes(32).toString('base64url')
  return () => {
    secret ??= find().catch((error: unknown) => {
      secret = undefined
      throw error
    })
    return secret
  }
}
