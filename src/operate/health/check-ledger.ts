import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import type { LedgerStore } from '../../ledger/index.js'
import { fine, type Finding } from './finding.js'
import { world } from '../../shared/world.js'

/** Checks that the ledger can be read and written, by writing and deleting a key. */
export async function checkLedger(
  ledger: Pick<LedgerStore, 'idempotency' | 'payments'>,
): Promise<readonly Finding[]> {
  const key = idempotencyKey('health', world.randomUUID())
  const attempt = await ledger.idempotency.begin({ key, fingerprint: fingerprintOf({}) })
  if (attempt.state === 'fresh') await attempt.claim.abandon()
  await ledger.payments.listSubmitted({ limit: 1 })
  return [fine({ subject: 'ledger' }, 'The ledger can be read and written.')]
}
