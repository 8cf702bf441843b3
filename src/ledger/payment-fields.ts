import type { PaymentKey } from '../shared/protocol/payment-key.js'
import { recordId, type LedgerEntry } from './record.js'

/** The fields of a payment in a log line: its id (as in settlements), network and project. */
export function paymentFields(
  entry: PaymentKey & Pick<LedgerEntry, 'project'>,
): Readonly<Record<string, string | undefined>> {
  const { chainId, project } = entry
  return { payment: recordId(entry), network: `eip155:${chainId}`, project }
}
