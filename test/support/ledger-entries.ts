import type { LedgerEntry, LedgerStore, Submission } from '../../src/ledger/index.js'
import { newNonce } from './sign-payment.js'

/** When the clock of the ledger suites starts (ms). */
export const START_MS = 1_800_000_000_000
/** A transaction that was sent. */
export const SUBMISSION: Submission = {
  transaction: `0x${'aa'.repeat(32)}`,
  relayer: `0x${'bb'.repeat(20)}`,
  accountNonce: 7,
  raw: '0x02cc',
}
/** The error of a method that did nothing, for want of a lock or the database. */
export const UNAVAILABLE = { name: 'LedgerError', code: 'ledger_unavailable' }
/** How that transaction failed. */
export const FAILURE = {
  transaction: SUBMISSION.transaction,
  reason: 'invalid_transaction_state',
} as const

/** Brings a new entry to a state. */
export const steps = {
  reserved: async (ledger: LedgerStore, entry: LedgerEntry) =>
    void (await ledger.payments.reserve(entry)),
  submitted: async (ledger: LedgerStore, entry: LedgerEntry) => {
    await steps.reserved(ledger, entry)
    await ledger.payments.submit(entry, SUBMISSION)
  },
  settled: async (ledger: LedgerStore, entry: LedgerEntry) => {
    await steps.submitted(ledger, entry)
    await ledger.payments.markSettled(entry, SUBMISSION.transaction)
  },
  failed: async (ledger: LedgerStore, entry: LedgerEntry) => {
    await steps.submitted(ledger, entry)
    await ledger.payments.markFailed(entry, FAILURE)
  },
}

/** An entry by ERC-3009 that nobody has, whose authorization lasts for five minutes. */
export function newEntry(overrides: Partial<LedgerEntry> = {}): LedgerEntry {
  const { asset = `0x${'ab'.repeat(20)}` } = overrides
  return {
    chainId: 84532,
    scheme: 'exact',
    asset,
    contract: asset,
    from: `0x${newNonce().slice(2, 42)}`,
    nonce: newNonce(),
    payTo: `0x${'cd'.repeat(20)}`,
    value: 10_000n,
    validBefore: BigInt(START_MS / 1000 + 300),
    project: 'shop',
    ...overrides,
  }
}
