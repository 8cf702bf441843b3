import { MemoryIdempotency } from '../../idempotency/memory.js'
import type { IdempotencyStore } from '../../idempotency/store.js'
import type { Address, Hex } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import type { LedgerStore } from '../ledger.js'
import { lockLost } from '../lock-lost.js'
import { isFinal } from '../record.js'
import type {
  AuthorizationKey,
  FinalEntry,
  FinalQuery,
  KeyedSubmission,
  LedgerEntry,
  LedgerQuery,
  LedgerRecord,
  Submission,
} from '../record.js'
import { PaymentRecords } from './payment-records.js'
import { entryOf, hashesOf, keyOf, newestFirst, submissionOf } from './stored-record.js'

/** Resolved options of `memoryLedger`. */
interface MemoryStoreOptions {
  readonly maxRecords: number
  readonly maxAnswerBytes: number | undefined
  /** Unix time in milliseconds. */
  readonly now: () => number
}

/** Keeps the ledger in memory. Nothing in it awaits between a check and the change that it allows. */
export class MemoryStore implements LedgerStore {
  readonly idempotency: IdempotencyStore
  readonly #now: () => number
  readonly #payments: PaymentRecords

  constructor({ maxRecords, maxAnswerBytes, now }: MemoryStoreOptions) {
    const payments = new PaymentRecords({ maxRecords, now })
    const answers = new MemoryIdempotency({ maxBytes: maxAnswerBytes, now })
    this.#now = now
    this.#payments = payments
    this.idempotency = {
      async begin(request) {
        payments.records.requireOpen()
        return answers.begin(request)
      },
      async look(request) {
        payments.records.requireOpen()
        return answers.look(request)
      },
    }
  }

  async find(key: AuthorizationKey): Promise<LedgerRecord | undefined> {
    const record = this.#payments.find(key)
    return record && this.#payments.shown(record)
  }

  async reserve(entry: LedgerEntry): Promise<LedgerRecord | undefined> {
    const existing = this.#payments.find(entry)
    if (existing !== undefined) return this.#payments.shown(existing)
    this.#payments.create(entry, { locked: true })
    return undefined
  }

  async release(key: AuthorizationKey): Promise<void> {
    if (this.#payments.records.isClosed) return
    const record = this.#payments.find(key)
    if (record?.state === 'reserved' && record.locked) this.#payments.records.delete(keyOf(key))
    else this.#payments.setLocked(key, false)
  }

  async submit(key: AuthorizationKey, submission: Submission): Promise<void> {
    if (!this.#payments.maySubmit({ key, submission })) throw lockLost()
    this.#payments.move(key, { state: 'submitted', submission })
  }

  async submitTogether(members: readonly KeyedSubmission[]): Promise<readonly AuthorizationKey[]> {
    const lost = members.filter((member) => !this.#payments.maySubmit(member))
    if (lost.length === 0)
      for (const { key, submission } of members)
        this.#payments.move(key, { state: 'submitted', submission })
    return lost.map(({ key }) => key)
  }

  async withdraw(key: AuthorizationKey, transaction: Hex): Promise<void> {
    this.#payments.withdraw(key, transaction)
  }

  async withdrawTogether(keys: readonly AuthorizationKey[], transaction: Hex): Promise<void> {
    for (const key of keys) this.#payments.withdraw(key, transaction)
  }

  async adopt(entries: readonly LedgerEntry[], submission: Submission): Promise<void> {
    for (const entry of entries) {
      if (this.#payments.find(entry) === undefined) this.#payments.create(entry, { locked: false })
      if (this.#payments.find(entry)?.state === 'reserved')
        this.#payments.move(entry, { state: 'submitted', submission })
    }
  }

  async knowsTransaction(transaction: Hex): Promise<boolean> {
    for await (const record of this.#payments.records.all())
      if (hashesOf(record).includes(transaction)) return true
    return false
  }

  async markSettled(key: AuthorizationKey, transaction: Hex, transfer?: string): Promise<boolean> {
    const record = this.#payments.find(key)
    if (record === undefined || isFinal(record)) return true
    if (!this.#payments.takeTransfer(key, transfer)) return false
    const submission = submissionOf(record)
    this.#payments.move(key, {
      state: 'settled',
      transaction,
      submission,
      ...(transfer && { transfer }),
    })
    return true
  }

  async markFailed(
    key: AuthorizationKey,
    failure: { transaction: Hex; reason: Reason },
  ): Promise<void> {
    this.#payments.move(key, {
      state: 'failed',
      ...failure,
      submission: submissionOf(this.#payments.find(key)),
    })
  }

  async markSettledLate(
    key: AuthorizationKey,
    transaction: Hex,
    transfer?: string,
  ): Promise<boolean> {
    const record = this.#payments.find(key)
    if (record === undefined || !isFinal(record)) return true
    if (!this.#payments.takeTransfer(key, transfer)) return false
    const { id, ownerSilent, delivered, createdAt, fresh, transfer: before } = record
    if (before !== undefined && before !== transfer) this.#payments.freeTransfer(before)
    const kept = { ...entryOf(record), id, ownerSilent, delivered, createdAt, fresh }
    this.#payments.update({
      ...kept,
      state: 'settled',
      transaction,
      submission: submissionOf(record),
      locked: record.state === 'settled' && record.locked,
      paidLate: record.paidLate || record.state === 'failed',
      ...(transfer && { transfer }),
    })
    return true
  }

  async unlock(key: AuthorizationKey): Promise<void> {
    if (!this.#payments.records.isClosed) this.#payments.setLocked(key, false)
  }

  async relock(key: AuthorizationKey): Promise<boolean> {
    return this.#payments.setLocked(key, true)
  }

  async markDelivered(key: AuthorizationKey): Promise<void> {
    const record = this.#payments.find(key)
    if (record?.locked !== true || record.delivered) throw lockLost()
    if (record.state !== 'submitted' && record.state !== 'settled') throw lockLost()
    this.#payments.update({ ...record, delivered: true })
  }

  async listSubmitted(): Promise<readonly LedgerRecord[]> {
    return this.#payments.records
      .submitted()
      .map((record) => this.#payments.shown(record))
      .toSorted((one, other) => newestFirst(other, one))
  }

  async listFinal({ state, withinMs, limit }: FinalQuery): Promise<readonly FinalEntry[]> {
    const entries: FinalEntry[] = []
    for await (const record of this.#payments.records.finalSince(state, this.#now() - withinMs)) {
      entries.push({ ...entryOf(record), id: record.id, state })
      if (entries.length === limit) break
    }
    return entries
  }

  async list(query: LedgerQuery): Promise<readonly LedgerRecord[]> {
    const { project, id, state, from = 0, until = Infinity, after, limit } = query
    const matches = (record: LedgerRecord): boolean =>
      record.project === project &&
      (state === undefined || record.state === state) &&
      (after === undefined || newestFirst(after, record) < 0)
    if (id !== undefined) {
      const record = this.#payments.records.byId(id)
      const isInTime = record && record.createdAt >= from && record.createdAt < until
      return isInTime && matches(record) ? [this.#payments.shown(record)] : []
    }
    const listed: LedgerRecord[] = []
    const end = Math.min(until, (after?.createdAt ?? Infinity) + 1)
    for await (const record of this.#payments.records.ofProject(project, from, end)) {
      // All records of one millisecond are read, because they are sorted by their ids below.
      if (listed.length >= limit && listed.at(-1)?.createdAt !== record.createdAt) break
      if (matches(record)) listed.push(this.#payments.shown(record))
    }
    return listed.toSorted(newestFirst).slice(0, limit)
  }

  async leaseRelayers(_chainId: number, relayers: readonly Address[]): Promise<readonly Address[]> {
    this.#payments.records.requireOpen()
    return relayers
  }

  async close(): Promise<void> {
    this.#payments.records.close()
  }
}
