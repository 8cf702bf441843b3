import { sha256 } from '../../crypto/sha256.js'
import type { Hex } from '../../protocol/payment.js'
import { ownText } from '../own-text.js'
import { REDEEM_WITHOUT_PROOF_MS } from '../purchase.js'
import { isFinal, recordId } from '../record.js'
import type {
  AuthorizationKey,
  KeyedSubmission,
  LedgerEntry,
  LedgerRecord,
  LedgerStatus,
  Submission,
} from '../record.js'
import { isDelivered, MemoryRecords } from './memory-records.js'
import {
  hashesOf,
  isReplacement,
  tombstoneOf,
  withBytes,
  withoutBytes,
  type StoredRecord,
  type TransactionBytes,
} from './stored-record.js'
import { Tombstones } from './tombstones.js'

/** Options of {@link PaymentRecords}. */
interface PaymentRecordsOptions {
  readonly maxRecords: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Called when an existing record has changed. */
  readonly watch?: RecordWatch
}

/** Listens to the changes of the records of some projects. */
export interface RecordWatch {
  isWatched(project: string | undefined): boolean
  noteChange(before: LedgerRecord, after: LedgerRecord): void
}

type NextStatus = LedgerStatus & Pick<StoredRecord, 'transfer' | 'bytes'>

/** What a record keeps in all its states, beside its entry. */
type KeptMembers = Pick<LedgerRecord, 'id' | 'locked' | 'ownerSilent' | 'delivered' | 'createdAt'> &
  Pick<StoredRecord, 'bytes'>

/** The payments in memory: their records, who has them locked, and which transfer log paid for each. */
export class PaymentRecords {
  readonly records: MemoryRecords<StoredRecord>
  readonly #now: () => number
  readonly #watch: RecordWatch | undefined
  /** Ids of records, by the transfer log that paid for them. */
  readonly #transfers = new Map<string, string>()
  /** Of delivered payments whose records were dropped. */
  readonly #tombstones = new Tombstones()

  constructor(options: PaymentRecordsOptions) {
    this.#now = options.now
    this.#watch = options.watch
    this.records = new MemoryRecords<StoredRecord>({
      ...options,
      onGone: (record) => {
        const { id, transfer } = record
        if (isDelivered(record)) this.#bury(record)
        if (transfer !== undefined && this.#transfers.get(transfer) === id)
          this.#transfers.delete(transfer)
      },
    })
  }

  find(key: AuthorizationKey): StoredRecord | undefined {
    return this.records.get(recordId(key))
  }

  /** Finds a record, or what is left of a delivered payment: that refuses it, and never changes. */
  findAny(key: AuthorizationKey): StoredRecord | undefined {
    const id = recordId(key)
    return this.records.get(id) ?? (this.#tombstones.has(id) ? tombstoneOf(key, id) : undefined)
  }

  /** Tells whether a transaction was sent for a payment, also for one that was dropped. */
  async knowsTransaction(transaction: Hex): Promise<boolean> {
    for await (const record of this.records.all())
      if (hashesOf(record).includes(transaction)) return true
    return this.#tombstones.has(transaction.slice(2))
  }

  /** A record, as callers of the ledger get it. */
  shown(record: StoredRecord): LedgerRecord {
    const { transfer: _transfer, bytes, ...shown } = record
    const fresh = this.#now() - record.createdAt < REDEEM_WITHOUT_PROOF_MS
    if (shown.state === 'reserved' || shown.submission === undefined) return { ...shown, fresh }
    return { ...shown, fresh, submission: withBytes(shown.submission, bytes) }
  }

  /** A record, as lists have it: without the bytes of its transaction. */
  listed(record: StoredRecord): LedgerRecord {
    const shown = this.shown({ ...record, bytes: undefined })
    if (shown.state === 'submitted') return shown
    const { submission: _submission, ...listed } = { submission: undefined, ...shown }
    return listed
  }

  /** Creates a reserved record. */
  create(entry: LedgerEntry, { locked }: Pick<LedgerRecord, 'locked'>): void {
    const id = ownText(recordId(entry))
    const createdAt = this.#now()
    const flags = { locked, ownerSilent: false, delivered: false }
    this.#store(entry, { id, ...flags, createdAt }, { state: 'reserved' })
  }

  update(changed: Omit<StoredRecord, 'updatedAt'> & LedgerStatus): void {
    const before = this.records.get(changed.id)
    this.records.set({ ...changed, updatedAt: this.#now() })
    if (before !== undefined) this.#noteChange(before)
  }

  /** Gives a record its next state. A final record stays as it is. */
  move(key: AuthorizationKey, status: NextStatus): void {
    const record = this.find(key)
    if (record === undefined || isFinal(record)) return
    this.#store(record, record, status)
    this.#noteChange(record)
  }

  /** Writes a transaction down for a payment. The payments of a batch share its bytes. */
  submit(key: AuthorizationKey, submission: Submission, bytes: TransactionBytes): void {
    this.move(key, { state: 'submitted', submission: withoutBytes(submission), bytes })
  }

  #noteChange(before: StoredRecord): void {
    if (this.#watch?.isWatched(before.project) !== true) return
    const after = this.records.get(before.id)
    if (after !== undefined) this.#watch.noteChange(before, this.listed(after))
  }

  /** Stores a record in a new state. One literal: this runs four times a payment. */
  #store(entry: LedgerEntry, kept: KeptMembers, status: NextStatus): void {
    const { chainId, asset, from, nonce, payTo, value, validBefore, project, appliedRate } = entry
    const { id, locked, ownerSilent, delivered, createdAt, bytes } = kept
    this.records.set({
      chainId,
      asset,
      from,
      nonce,
      payTo,
      value,
      validBefore,
      project,
      appliedRate,
      purchase: entry.purchase,
      details: entry.details,
      refundOf: entry.refundOf,
      id,
      locked,
      ownerSilent,
      delivered,
      createdAt,
      fresh: true,
      paidLate: false,
      updatedAt: this.#now(),
      bytes,
      ...status,
    })
  }

  /** Locks or unlocks a record. @returns Whether that changed anything. */
  setLocked(key: AuthorizationKey, locked: boolean): boolean {
    const record = this.find(key)
    if (record === undefined || record.delivered || record.locked === locked) return false
    this.update({ ...record, locked })
    return true
  }

  /** Tells whether a transaction may be written down for a payment. */
  maySubmit({ key, submission }: KeyedSubmission): boolean {
    const record = this.find(key)
    if (record === undefined || isFinal(record)) return false
    return record.locked || isReplacement(record, submission)
  }

  /** Forgets a record that names this transaction as submitted. */
  withdraw(key: AuthorizationKey, transaction: Hex): void {
    const record = this.find(key)
    if (record?.state === 'submitted' && record.submission.transaction === transaction)
      this.records.delete(record.id)
  }

  /** Notes which record a transfer log pays for. @returns Whether it is this one. */
  takeTransfer({ id }: LedgerRecord, transfer: string | undefined): boolean {
    if (transfer === undefined) return true
    const owner = this.#transfers.get(transfer)
    if (owner !== undefined && owner !== id) return false
    if (this.#tombstones.has(digestOf(transfer))) return false
    this.#transfers.set(transfer, id)
    return true
  }

  /** Lets a transfer log pay for another record. */
  freeTransfer(transfer: string): void {
    this.#transfers.delete(transfer)
  }

  #bury(record: StoredRecord): void {
    this.#tombstones.add(record.id)
    if (record.transfer !== undefined) this.#tombstones.add(digestOf(record.transfer))
    for (const hash of hashesOf(record)) this.#tombstones.add(hash.slice(2))
  }
}

function digestOf(transfer: string): string {
  return sha256(transfer, 'hex')
}
