import type * as KyselyModule from 'kysely'
import { loadInstalled } from './require-peers.js'

let loaded: typeof KyselyModule | undefined

/** Loads the query builder when a database is opened: it takes longer than the rest of a ledger. */
export function loadKysely(): typeof KyselyModule {
  return (loaded ??= loadInstalled('kysely') as typeof KyselyModule)
}
