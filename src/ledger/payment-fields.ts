import type { AuthorizationKey } from '../protocol/authorization.js'
import { recordId, type LedgerEntry } from './record.js'

/** What a line of the log says of a payment: its id, as settlements have it, network and project. */
export function paymentFields(
  entry: AuthorizationKey & Pick<LedgerEntry, 'project'>,
): Readonly<Record<string, string | undefined>> {
  const { chainId, project } = entry
  return { payment: recordId(entry), network: `eip155:${chainId}`, project }
}
