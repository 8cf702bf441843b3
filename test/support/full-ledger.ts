import type { LedgerStore } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'

/** A ledger with room for one payment, which somebody is at work on: it is not dropped for another. */
export async function fullLedger(): Promise<LedgerStore> {
  const ledger = createMemoryLedger({ maxRecords: 1 })
  const address = `0x${'11'.repeat(20)}` as const
  await ledger.payments.reserve({
    ...{
      scheme: 'exact',
      chainId: 84532,
      asset: address,
      contract: address,
      from: address,
      payTo: address,
    },
    nonce: `0x${'11'.repeat(32)}`,
    value: 1n,
    validBefore: 2n ** 40n,
  })
  return ledger
}
