/** How the oracle names payments. */
import type { LedgerRecord } from '../../src/ledger/index.js'

/** Whether a payment was used up without anything being taken. */
export function isUncharged({ state, charged }: LedgerRecord): boolean {
  return state === 'settled' && charged === 0n
}

/** Names an authorization as the oracle does. */
export function authorizationOf({ from, nonce }: { from: string; nonce: string }): string {
  return `${from}:${nonce}`.toLowerCase()
}
