import type * as KyselyModule from 'kysely'
import { loadPeer } from '../../crypto/load-peer.cjs'

let loaded: typeof KyselyModule | undefined

/** Loads the query builder when a database is opened: it takes longer than the rest of a ledger. */
export function loadKysely(): typeof KyselyModule {
  return (loaded ??= loadPeer('kysely') as typeof KyselyModule)
}
