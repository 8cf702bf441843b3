import type { LedgerStore } from '../../ledger/index.js'

const NAME = 'quote'

/**
 * Finds the secret for signing quotes: the configured one, or the one that all gateways on a ledger share.
 *
 * @returns A function that finds it when first called; after a failure, the next call tries again.
 */
export function quoteSecret(
  configured: string | undefined,
  ledger: Pick<LedgerStore, 'secrets'>,
): () => Promise<string> {
  return keepFound(async () => configured ?? ledger.secrets.sharedSecret(NAME))
}

/** Finds a secret when first called; after a failure, the next call tries again. */
export function keepFound(find: () => Promise<string>): () => Promise<string> {
  let secret: Promise<string> | undefined
  return () => {
    secret ??= find().catch((error: unknown) => {
      secret = undefined
      throw error
    })
    return secret
  }
}
