import { LedgerError } from '../../errors.js'

/** Creates the error of a method whose caller has lost its lock, or never had it. */
export function lockLost(): LedgerError {
  return new LedgerError('ledger_unavailable', 'This payment is no longer locked: it was let go.')
}
