import type { LedgerQuery, LedgerRecord, LedgerStore } from '../../ledger/index.js'
import { world } from '../../shared/world.js'

export async function* recordPages(
  ledger: Pick<LedgerStore, 'payments'>,
  query: LedgerQuery,
): AsyncGenerator<readonly LedgerRecord[], undefined> {
  let { after } = query
  for (;;) {
    const page = await ledger.payments.list({ ...query, after })
    yield page
    after = page.at(-1)
    if (page.length < query.limit) return undefined
    // SQLite answers in the same turn, as does a socket with room: without a break, nothing else would run until
    // all pages are read.
    await world.nextTurn()
  }
}
