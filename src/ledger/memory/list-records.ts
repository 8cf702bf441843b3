import { boundResource } from '../payment-details.js'
import { EVERY_PROJECT, type LedgerQuery, type LedgerRecord, type RecordSearch } from '../record.js'
import { REMOTE_SUBMISSION, transactionOf } from '../record-transaction.js'
import type { PaymentRecords } from './payment-records.js'
import { newestFirst } from './stored-record.js'

/** Lists the records of one project, or of all, newest first. */
export async function listRecords(
  payments: PaymentRecords,
  query: LedgerQuery,
): Promise<readonly LedgerRecord[]> {
  const { project, id, from = 0, until = Infinity, limit } = query
  const matches = matching(query)
  if (id !== undefined) {
    const record = payments.records.get(id)
    const isInTime = record && record.createdAt >= from && record.createdAt < until
    return isInTime && matches(record) ? [payments.listed(record)] : []
  }
  const listed: LedgerRecord[] = []
  const projects = project === EVERY_PROJECT ? payments.records.projects() : [project]
  for (const one of projects) listed.push(...(await pageOf(payments, one, query)))
  return listed.toSorted(newestFirst).slice(0, limit)
}

/** The newest records of a project that match, and all others of the last one's millisecond. */
async function pageOf(
  payments: PaymentRecords,
  project: string,
  query: LedgerQuery,
): Promise<readonly LedgerRecord[]> {
  const { from = 0, until = Infinity, after, limit } = query
  const matches = matching(query)
  const page: LedgerRecord[] = []
  const end = Math.min(until, (after?.createdAt ?? Infinity) + 1)
  for await (const record of payments.records.ofProject(project, from, end)) {
    // All records of one millisecond are read, because they are sorted by their ids afterwards.
    if (page.length >= limit && page.at(-1)?.createdAt !== record.createdAt) break
    if (matches(record)) page.push(payments.listed(record))
  }
  return page
}

function matching({ project, state, after, search }: LedgerQuery) {
  return (record: LedgerRecord): boolean =>
    (project === EVERY_PROJECT || record.project === project) &&
    record.refundOf === undefined &&
    (state === undefined || record.state === state) &&
    (after === undefined || newestFirst(after, record) < 0) &&
    (search === undefined || isFound(record, search))
}

function isFound(record: LedgerRecord, search: RecordSearch): boolean {
  if ('payer' in search) return record.from.toLowerCase() === search.payer.toLowerCase()
  if ('reference' in search) return record.details?.reference === search.reference
  if ('resource' in search) return record.details?.resource === boundResource(search.resource)
  const { transaction } = search
  return transaction !== REMOTE_SUBMISSION.transaction && transactionOf(record) === transaction
}

/** Lists what has just happened. */
export async function listLatest(
  payments: PaymentRecords,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<readonly LedgerRecord[]> {
  const { records } = payments
  const latest = records.submitted().slice(-limit)
  for (const state of ['settled', 'failed'] as const) {
    let count = 0
    for await (const record of records.finalSince(state, from)) {
      latest.push(record)
      count += 1
      if (count === limit) break
    }
  }
  return latest.map((record) => payments.listed(record))
}
