import type { Hex } from '../../protocol/payment.js'
import { REDEEM_WITHOUT_PROOF_MS } from '../purchase.js'
import { isFinal, recordId } from '../record.js'
import type {
  AuthorizationKey,
  KeyedSubmission,
  LedgerEntry,
  LedgerRecord,
  LedgerStatus,
} from '../record.js'
import { MemoryRecords } from './memory-records.js'
import { isReplacement, keyOf, type StoredRecord } from './stored-record.js'

/** Options of {@link PaymentRecords}. */
interface PaymentRecordsOptions {
  readonly maxRecords: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

type NextStatus = LedgerStatus & { readonly transfer?: string }

/** What a record keeps in all its states, beside its entry. */
type KeptMembers = Pick<LedgerRecord, 'id' | 'locked' | 'ownerSilent' | 'delivered' | 'createdAt'>

/** The payments in memory: their records, who has them locked, and which transfer log paid for each. */
export class PaymentRecords {
  readonly records: MemoryRecords<StoredRecord>
  readonly #now: () => number
  /** Keys of records, by the transfer log that paid for them. */
  readonly #transfers = new Map<string, string>()

  constructor(options: PaymentRecordsOptions) {
    this.#now = options.now
    this.records = new MemoryRecords<StoredRecord>({
      ...options,
      onGone: ({ transfer }, key) => {
        if (transfer !== undefined && this.#transfers.get(transfer) === key)
          this.#transfers.delete(transfer)
      },
    })
  }

  find(key: AuthorizationKey): StoredRecord | undefined {
    return this.records.get(keyOf(key))
  }

  /** A record, as callers of the ledger get it. */
  shown(record: StoredRecord): LedgerRecord {
    const { transfer: _transfer, ...shown } = record
    return { ...shown, fresh: this.#now() - record.createdAt < REDEEM_WITHOUT_PROOF_MS }
  }

  /** Creates a reserved record. */
  create(entry: LedgerEntry, { locked }: Pick<LedgerRecord, 'locked'>): void {
    const id = recordId(entry)
    const createdAt = this.#now()
    const flags = { locked, ownerSilent: false, delivered: false }
    this.#store(entry, { id, ...flags, createdAt }, { state: 'reserved' })
  }

  update(changed: Omit<StoredRecord, 'updatedAt'> & LedgerStatus): void {
    const record: StoredRecord = { ...changed, updatedAt: this.#now() }
    this.records.set(keyOf(record), record)
  }

  /** Gives a record its next state. A final record stays as it is. */
  move(key: AuthorizationKey, status: NextStatus): void {
    const record = this.find(key)
    if (record === undefined || isFinal(record)) return
    this.#store(record, record, status)
  }

  /** Stores a record in a new state. One literal: this runs four times a payment. */
  #store(entry: LedgerEntry, kept: KeptMembers, status: NextStatus): void {
    const { chainId, asset, from, nonce, payTo, value, validBefore, project, appliedRate } = entry
    const { id, locked, ownerSilent, delivered, createdAt } = kept
    this.records.set(keyOf(entry), {
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
      id,
      locked,
      ownerSilent,
      delivered,
      createdAt,
      fresh: true,
      paidLate: false,
      updatedAt: this.#now(),
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
      this.records.delete(keyOf(key))
  }

  /** Notes which record a transfer log pays for. @returns Whether it is this one. */
  takeTransfer(key: AuthorizationKey, transfer: string | undefined): boolean {
    if (transfer === undefined) return true
    const owner = this.#transfers.get(transfer)
    if (owner !== undefined && owner !== keyOf(key)) return false
    this.#transfers.set(transfer, keyOf(key))
    return true
  }

  /** Lets a transfer log pay for another record. */
  freeTransfer(transfer: string): void {
    this.#transfers.delete(transfer)
  }
}
