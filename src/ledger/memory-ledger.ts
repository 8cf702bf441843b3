import { LedgerError } from '../errors.js'
import { recordId } from './ledger.js'
import { MemoryIdempotency } from '../idempotency/memory.js'
import { isFinal, MemoryRecords } from './memory-records.js'
import { REDEEM_WITHOUT_PROOF_MS } from './purchase.js'
import type {
  AuthorizationKey,
  FinalEntry,
  KeyedSubmission,
  LedgerStore,
  Ledger,
  LedgerRecord,
  LedgerStatus,
  Submission,
} from './ledger.js'
import type { Hex } from '../protocol/payment.js'

/**
 * Records a memory ledger holds by default; one takes about 1 KB. At 1,000 payments a second they are
 * those of the last minutes, for which a reorganisation may have to be undone.
 */
const DEFAULT_MAX_RECORDS = 200_000

/** Options of {@link memoryLedger}. */
export interface MemoryLedgerOptions {
  /**
   * Records held at once. Beyond, of payments that were delivered no more is kept than what refuses
   * them, and lists leave them out. When all records are of other payments, reservations fail with
   * `ledger_full`: a live record is never dropped to make room for another.
   * @defaultValue 200000
   */
  readonly maxRecords?: number
  /**
   * Bytes of answers kept for those who ask again by the same idempotency key or payment id; those
   * asked for longest ago are forgotten first.
   * @defaultValue 64 MiB
   */
  readonly maxAnswerBytes?: number
  /** Unix time in milliseconds, for tests that own the clock. */
  readonly now?: () => number
}

/**
 * Keeps the ledger in this process's memory.
 *
 * Records of open payments stay until they are final. Final ones outlive `validBefore`, so that a
 * settled authorization is known as such for as long as anybody could present it. What it cannot do
 * is outlive the process, or be shared by several: that takes an SQL ledger.
 */
export function memoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  return createMemoryLedger(options)
}

/** {@link memoryLedger}, as a gateway uses it. */
export function createMemoryLedger(options: MemoryLedgerOptions = {}): LedgerStore {
  const { maxRecords = DEFAULT_MAX_RECORDS, maxAnswerBytes, now = Date.now } = options
  const records = new MemoryRecords<StoredRecord>({
    maxRecords,
    now,
    onGone: ({ transfer }, key) => {
      if (transfer !== undefined && transfers.get(transfer) === key) transfers.delete(transfer)
    },
  })
  /** Which record a transfer has paid for. */
  const transfers = new Map<string, string>()

  const find = (key: AuthorizationKey): StoredRecord | undefined => records.get(keyOf(key))
  const seen = (record: StoredRecord): LedgerRecord => {
    const { transfer: _transfer, ...shown } = record
    return { ...shown, fresh: now() - record.createdAt < REDEEM_WITHOUT_PROOF_MS }
  }
  /** Notes which record a transfer pays for. @returns Whether it is this one. */
  const takeTransfer = (key: AuthorizationKey, transfer: string | undefined): boolean => {
    if (transfer === undefined) return true
    const owner = transfers.get(transfer)
    if (owner !== undefined && owner !== keyOf(key)) return false
    transfers.set(transfer, keyOf(key))
    return true
  }

  const store = (changed: Omit<StoredRecord, 'updatedAt'> & LedgerStatus): void => {
    const record: StoredRecord = { ...changed, updatedAt: now() }
    records.set(keyOf(record), record)
  }

  const move = (key: AuthorizationKey, status: LedgerStatus & { transfer?: string }): void => {
    const record = find(key)
    if (record === undefined || isFinal(record)) return
    const { id, locked, ownerSilent, delivered, createdAt } = record
    const kept = { id, locked, ownerSilent, delivered, createdAt, fresh: true, paidLate: false }
    store({ ...entryOf(record), ...kept, ...status })
  }

  const setLocked = (key: AuthorizationKey, locked: boolean): boolean => {
    const record = find(key)
    if (record === undefined || record.delivered || record.locked === locked) return false
    store({ ...record, locked })
    return true
  }

  const idempotency = new MemoryIdempotency({ maxBytes: maxAnswerBytes, now })

  const maySubmit = ({ key, submission }: KeyedSubmission): boolean => {
    const record = find(key)
    if (record === undefined || isFinal(record)) return false
    return record.locked || isReplacement(record, submission)
  }

  const withdraw = (key: AuthorizationKey, transaction: Hex): void => {
    const record = find(key)
    if (record?.state === 'submitted' && record.submission.transaction === transaction)
      records.delete(keyOf(key))
  }

  return {
    idempotency: {
      async begin(request) {
        records.requireOpen()
        return idempotency.begin(request)
      },
      async look(...asked) {
        records.requireOpen()
        return idempotency.look(...asked)
      },
    },
    find: async (key) => {
      const record = find(key)
      return record && seen(record)
    },
    reserve: async (entry) => {
      const existing = find(entry)
      if (existing !== undefined) return seen(existing)
      const ours = {
        locked: true,
        ownerSilent: false,
        delivered: false,
        fresh: true,
        paidLate: false,
      }
      const fresh = { id: recordId(entry), ...ours, createdAt: now() }
      store({ ...entryOf(entry), ...fresh, state: 'reserved' })
      return undefined
    },
    release: async (key) => {
      // There is nothing left to let go of.
      if (records.isClosed) return
      const record = find(key)
      if (record?.state === 'reserved' && record.locked) records.delete(keyOf(key))
      else setLocked(key, false)
    },
    submit: async (key, submission) => {
      if (!maySubmit({ key, submission })) throw lockLost()
      move(key, { state: 'submitted', submission })
    },
    submitTogether: async (members) => {
      const lost = members.filter((member) => !maySubmit(member))
      if (lost.length === 0)
        for (const { key, submission } of members) move(key, { state: 'submitted', submission })
      return lost.map(({ key }) => key)
    },
    withdraw: async (key, transaction) => withdraw(key, transaction),
    withdrawTogether: async (keys, transaction) => {
      for (const key of keys) withdraw(key, transaction)
    },
    adopt: async (entries, submission) => {
      for (const entry of entries) {
        const unheld = {
          locked: false,
          ownerSilent: false,
          delivered: false,
          fresh: true,
          paidLate: false,
        }
        if (find(entry) === undefined)
          store({
            ...entryOf(entry),
            id: recordId(entry),
            ...unheld,
            createdAt: now(),
            state: 'reserved',
          })
        if (find(entry)?.state === 'reserved') move(entry, { state: 'submitted', submission })
      }
    },
    knowsTransaction: async (transaction) => {
      for await (const record of records.all())
        if (hashesOf(record).includes(transaction)) return true
      return false
    },
    markSettled: async (key, transaction, transfer) => {
      const record = find(key)
      if (record === undefined || isFinal(record)) return true
      if (!takeTransfer(key, transfer)) return false
      const submission = submissionOf(record)
      move(key, { state: 'settled', transaction, submission, ...(transfer && { transfer }) })
      return true
    },
    markFailed: async (key, failure) =>
      move(key, { state: 'failed', ...failure, submission: submissionOf(find(key)) }),
    markSettledLate: async (key, transaction, transfer) => {
      const record = find(key)
      if (record === undefined || !isFinal(record)) return true
      if (!takeTransfer(key, transfer)) return false
      const { transfer: before } = record
      if (before !== undefined && before !== transfer) transfers.delete(before)
      const { id, ownerSilent, delivered, createdAt, fresh } = record
      const locked = record.state === 'settled' && record.locked
      const paidLate = record.paidLate || record.state === 'failed'
      const kept = {
        ...entryOf(record),
        id,
        locked,
        ownerSilent,
        delivered,
        createdAt,
        fresh,
        paidLate,
      }
      const submission = submissionOf(record)
      store({ ...kept, state: 'settled', transaction, submission, ...(transfer && { transfer }) })
      return true
    },
    unlock: async (key) => {
      if (!records.isClosed) setLocked(key, false)
    },
    relock: async (key) => setLocked(key, true),
    markDelivered: async (key) => {
      const record = find(key)
      if (record?.locked !== true || record.delivered) throw lockLost()
      if (record.state !== 'submitted' && record.state !== 'settled') throw lockLost()
      store({ ...record, delivered: true })
    },
    listSubmitted: async () =>
      records
        .submitted()
        .map(seen)
        .toSorted((one, other) => newestFirst(other, one)),
    listFinal: async ({ state, withinMs, limit }) => {
      const entries: FinalEntry[] = []
      for await (const record of records.finalSince(state, now() - withinMs)) {
        entries.push({ ...entryOf(record), id: record.id, state })
        if (entries.length === limit) break
      }
      return entries
    },
    list: async ({ project, id, state, from = 0, until = Infinity, after, limit }) => {
      const isMeant = (record: LedgerRecord): boolean =>
        record.project === project &&
        (state === undefined || record.state === state) &&
        (after === undefined || newestFirst(after, record) < 0)
      if (id !== undefined) {
        const record = records.byId(id)
        const isInTime = record && record.createdAt >= from && record.createdAt < until
        return isInTime && isMeant(record) ? [seen(record)] : []
      }
      const listed: LedgerRecord[] = []
      const end = Math.min(until, (after?.createdAt ?? Infinity) + 1)
      for await (const record of records.ofProject(project, from, end)) {
        // Those of one millisecond are in the order of their ids.
        if (listed.length >= limit && listed.at(-1)?.createdAt !== record.createdAt) break
        if (isMeant(record)) listed.push(seen(record))
      }
      return listed.toSorted(newestFirst).slice(0, limit)
    },
    leaseRelayers: async (_chainId, relayers) => {
      records.requireOpen()
      return relayers
    },
    close: async () => records.close(),
  }
}

/** A record, and which transfer paid for it. */
type StoredRecord = LedgerRecord & { readonly transfer?: string }

type Position = Pick<LedgerRecord, 'createdAt' | 'id'>

function newestFirst(one: Position, other: Position): number {
  return other.createdAt - one.createdAt || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0)
}

/** Of two transactions of one relayer with the same count, at most one is ever mined. */
function isReplacement(record: LedgerRecord, { relayer, accountNonce }: Submission): boolean {
  if (record.state !== 'submitted') return false
  const { submission } = record
  return submission.relayer === relayer && submission.accountNonce === accountNonce
}

function lockLost(): LedgerError {
  return new LedgerError('ledger_unavailable', 'This payment is no longer locked: it was let go.')
}

function keyOf({ chainId, asset, from, nonce }: AuthorizationKey): string {
  return `${chainId}:${asset}:${from}:${nonce}`.toLowerCase()
}

function entryOf(record: LedgerRecord | Parameters<LedgerStore['reserve']>[0]) {
  const { chainId, asset, from, nonce, payTo, value, validBefore, project, appliedRate, purchase } =
    record
  return { chainId, asset, from, nonce, payTo, value, validBefore, project, appliedRate, purchase }
}

function submissionOf(record: LedgerRecord | undefined): Submission | undefined {
  return record === undefined || record.state === 'reserved' ? undefined : record.submission
}

/** Every transaction that was sent for a record, or paid it. */
function hashesOf(record: LedgerRecord): readonly Hex[] {
  if (record.state === 'reserved') return []
  const { transaction, replaces = [] } = record.submission ?? {}
  const sent = transaction === undefined ? replaces : [transaction, ...replaces]
  // A failed payment may name the transaction of another ledger, that used its authorization.
  return record.state === 'settled' ? [record.transaction, ...sent] : sent
}
