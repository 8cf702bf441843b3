import type { LedgerStore } from '../../ledger/index.js'
import { Lazy } from '../../shared/http/lazy.js'

/**
 * Finds the secret for signing quotes: the configured one, or the one that all gateways on a ledger share.
 *
 * @returns A function that finds it when first called; after a failure, the next call tries again.
 */
export function quoteSecret(
  configured: string | undefined,
  ledger: Pick<LedgerStore, 'secrets'>,
): () => Promise<string> {
  const secret = new Lazy(async () => configured ?? ledger.secrets.sharedSecret('quote'))
  return () => secret.get()
}
