import { bytesOf, hexOf, sameHex } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { lockLost, recordId } from '../record.js'
import type { PaymentKey, KeyedSubmission, Submission } from '../record.js'
import { idBytes } from '../engine/bytes.js'
import type { OwnLocks } from './own-locks.js'
import { idsOf, rowsParameter } from '../engine/statement.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { requireFew } from './uncharged.js'
import { SUBMIT } from '../relayers/statements.js'
import { keepBytes } from '../relayers/transaction-bytes.js'

const ALREADY_USED = 'invalid_exact_evm_nonce_already_used'

/** Writes down transactions before they are sent. */
export class Submissions {
  readonly #store: SqlStore
  readonly #locks: OwnLocks

  constructor(store: SqlStore, locks: OwnLocks) {
    this.#store = store
    this.#locks = locks
  }

  /**
   * Writes down a transaction before its first byte goes to the node. If it throws, no byte may.
   *
   * The caller must have the lock, or replace a transaction by one of the same relayer and account
   * nonce, of which at most one is ever mined.
   *
   * @param charged - As {@link KeyedSubmission.charged}.
   * @throws `LedgerError` if another process has the lock, because it took the caller for dead; also if the charge
   * exceeds what the payer has signed, or is another than the one that was written before.
   */
  async submit(key: PaymentKey, submission: Submission, charged?: bigint): Promise<void> {
    const member = { key, submission, charged }
    const lost = await this.#store.run(async (database) => {
      await keepBytes(database, key.chainId, submission)
      return this.submitIn(database, [member])
    })
    if (lost.length > 0) throw lockLost()
  }

  /**
   * Writes down a transaction for several payments. The caller undoes it if some are not locked.
   *
   * @returns The keys that are not locked, or whose charge is refused.
   */
  async submitIn(
    { db, run }: SqlDatabase,
    members: readonly KeyedSubmission[],
  ): Promise<readonly PaymentKey[]> {
    const [first] = members
    if (first === undefined) return []
    const written = idsOf(await run(SUBMIT, this.parametersOf(members, first.submission), db))
    return members.map(({ key }) => key).filter((key) => !written.has(recordId(key)))
  }

  /**
   * Settles a reserved payment of which nothing is taken: no transaction is sent, and the record alone keeps the
   * payment from being used again.
   *
   * @param lock - The caller's lock.
   * @throws `LedgerError` if the record is not reserved under that lock, or its payer has too many of them.
   */
  async settleUncharged(key: PaymentKey, lock: string | undefined): Promise<void> {
    if (lock === undefined) throw lockLost()
    const id = idBytes(recordId(key))
    const isSettled = await this.#store.run(async (database) => {
      const { db, sql, now } = database
      await requireFew(database, bytesOf(key.from))
      const { numAffectedRows } = await sql`
        UPDATE x402_authorizations SET state = 'settled', charged = '0', updated_at = ${now}
        WHERE id = ${id} AND lock_owner = ${lock} AND kind = 'payment'
          AND (state = 'reserved' OR state = 'settled' AND charged = '0')`.execute(db)
      return numAffectedRows === 1n
    })
    if (!isSettled) throw lockLost()
  }

  /**
   * Forgets a submitted transaction whose bytes were never made here: a remote facilitator says that it
   * has sent nothing.
   *
   * @throws `LedgerError` if another process has the lock, because it may send the transaction.
   */
  async withdraw(key: PaymentKey, transaction: Hex): Promise<void> {
    const record_id = recordId(key)
    const id = idBytes(record_id)
    const transaction_hash = bytesOf(transaction)
    const lock = this.#locks.of(record_id)
    const left = await this.#store.run(async ({ db }) => {
      if (lock !== undefined)
        await db
          .deleteFrom('x402_authorizations')
          .where((where) => where.and({ id, lock_owner: lock, state: 'submitted' }))
          .where('transaction_hash', '=', transaction_hash)
          .execute()
      return db
        .selectFrom('x402_authorizations')
        .select(['state', 'transaction_hash'])
        .where('id', '=', id)
        .executeTakeFirst()
    })
    const isLeft = left?.transaction_hash && sameHex(hexOf(left.transaction_hash), transaction)
    if (left?.state === 'submitted' && isLeft) throw lockLost()
    // Also where the record was gone already: the answer to a first attempt may be lost.
    if (left === undefined) this.#locks.drop(record_id, lock)
  }

  /** Tells whether a transaction, or one that replaced it, was sent for this ledger, or for another record than one. */
  knowsTransaction(transaction: Hex, except?: PaymentKey): Promise<boolean> {
    const id = idBytes(except ? recordId(except) : '')
    return this.#store.run(async ({ db, sql }) => {
      // A failed record may name a foreign transaction, which used its authorization. Final records name the
      // transaction that was mined.
      const { rows } = await sql`
        SELECT 1 FROM x402_authorizations WHERE transaction_hash = ${bytesOf(transaction)}
          AND (state <> 'failed' OR reason <> ${ALREADY_USED}) AND id <> ${id}
        UNION ALL SELECT 1 FROM x402_authorizations
          WHERE state = 'submitted' AND replaces LIKE ${`%${transaction}%`}
        LIMIT 1`.execute(db)
      return rows.length > 0
    })
  }

  /**
   * The parameters of the statements. Members share a transaction, and differ only in those that it replaces.
   */
  parametersOf(
    members: readonly KeyedSubmission[],
    { transaction, relayer, accountNonce }: Submission,
  ): readonly unknown[] {
    const rows = members.map(({ key, submission, charged }) => {
      const record_id = recordId(key)
      const replaces = submission.replaces?.join(',')
      return {
        record_id,
        lock_owner: this.#locks.of(record_id),
        replaces,
        charged: digitsIn(charged),
      }
    })
    return [rowsParameter(rows), bytesOf(transaction), bytesOf(relayer), accountNonce]
  }
}

/** More than any payment: 2^256 has fewer digits. */
const EXCESSIVE = '9'.repeat(80)

/** A charge for the statement, which refuses one that exceeds its payment. No transaction takes 0 or less. */
function digitsIn(charged: bigint | undefined): string | undefined {
  return charged !== undefined && charged <= 0n ? EXCESSIVE : charged?.toString()
}
